//! The user's own table: functions for which the user said what they are.

use super::function_name::FunctionName;
use super::types::Primitive;
use recording::meta::{FunctionKind, NamedFunction};
use std::collections::HashMap;

/// Functions that the user named, by the paths in their names: parameters and type arguments do not matter.
#[derive(Debug, Default)]
pub struct UserFunctions(HashMap<Vec<String>, FunctionKind>);

impl UserFunctions {
    /// Builds the table. If a function is named twice, the later entry counts.
    pub fn new(functions: &[NamedFunction]) -> UserFunctions {
        UserFunctions(functions.iter().map(|f| (FunctionName::new(&f.function).paths, f.kind)).collect())
    }

    /// What kind of function the user said this is.
    pub fn kind(&self, function: &FunctionName<'_>) -> Option<FunctionKind> {
        if self.0.is_empty() {
            return None;
        }
        let whole = self.0.get(&function.paths);
        whole.or_else(|| self.0.get([function.c_name.to_owned()].as_slice())).copied()
    }
}

/// The primitive that a function of this kind is.
pub fn primitive(kind: FunctionKind) -> Option<Primitive> {
    match kind {
        FunctionKind::Lock => Some(Primitive::Lock),
        FunctionKind::Pool => Some(Primitive::Pool),
        FunctionKind::Condition => Some(Primitive::Condition),
        FunctionKind::Barrier => Some(Primitive::Barrier),
        FunctionKind::RuntimeFrame => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(said: &str, shown: &str) -> Option<FunctionKind> {
        let said = NamedFunction { function: said.to_owned(), kind: FunctionKind::Pool };
        UserFunctions::new(&[said]).kind(&FunctionName::new(shown))
    }

    #[test]
    fn a_name_fits_with_and_without_its_types() {
        for (said, shown) in [
            ("mylib::Pool::get", "mylib::Pool::get"),
            ("mylib::Pool::get", "mylib::Pool<Connection>::get"),
            ("mylib::Pool::get", "Connection* mylib::Pool<Connection>::get(int)"),
            ("mylib::Pool<Connection>::get(int)", "mylib::Pool::get"),
            ("<mylib::Pool as mylib::Get>::get", "<mylib::Pool as mylib::Get>::get"),
            ("pool_get", "pool_get.constprop.0"),
            ("main.(*Pool).Get", "main.(*Pool).Get"),
        ] {
            assert_eq!(kind(said, shown), Some(FunctionKind::Pool), "{said}, {shown}");
        }
        for (said, shown) in [
            ("mylib::Pool::get", "mylib::Pool::get_mut"),
            ("get", "mylib::Pool::get"),
            ("mylib::Pool::get", "mylib::use(mylib::Pool::get)"),
            ("pool_get", "pool_get_all"),
        ] {
            assert_eq!(kind(said, shown), None, "{said}, {shown}");
        }
    }
}
