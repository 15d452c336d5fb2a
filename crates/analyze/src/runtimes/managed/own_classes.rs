//! Which classes of a Java program are its author's, and which a library's. All are compiled at run time, and a
//! recording does not name jar files.

/// The packages that a program's classes are in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnClasses {
    /// Starts of the names of the program's own methods, such as `com.acme.`.
    starts: Vec<String>,
    /// True where the program has classes without a package.
    bare: bool,
}

/// How many parts of a package's name say who owns it: by convention they are the owner's internet domain, reversed
/// (Java Language Specification, 6.1).
///
/// Decides: which methods of a Java program are reported as its own, and which as those of a library that it calls.
/// From: the convention of the language.
/// Shown by: `the_program_s_classes_are_in_its_main_class_s_package`.
/// Wrong if: one owner writes a program and the libraries below it: methods of the libraries are then reported as the
/// program's. Or a program's parts have several owners: methods of the user's own are then reported as a library's.
const OWNER: usize = 2;

/// Classes that only start a program's own main class.
const LAUNCHERS: [&str; 2] = ["org.springframework.boot.loader.", "org.codehaus.mojo.exec."];

impl OwnClasses {
    /// From the names of all methods in a recording: the package of a class with `main` is the program's. `library`:
    /// true for classes of the class library.
    pub(crate) fn from_methods<'n>(
        methods: impl Iterator<Item = &'n str>,
        library: impl Fn(&str) -> bool,
    ) -> OwnClasses {
        let mut own = OwnClasses::default();
        let starts = |name: &str, list: &[&str]| list.iter().any(|start| name.starts_with(start));
        for class in methods.filter_map(|name| name.strip_suffix(".main")) {
            if library(class) || starts(class, &LAUNCHERS) {
                continue;
            }
            let mut parts: Vec<&str> = class.split('.').collect();
            parts.pop();
            parts.truncate(OWNER);
            match parts.is_empty() {
                true => own.bare = true,
                false => own.starts.push(parts.join(".") + "."),
            }
        }
        own.starts.sort();
        own.starts.dedup();
        own
    }

    /// True for the program's own methods.
    pub fn hold(&self, method: &str) -> bool {
        let bare = || method.split('.').count() == 2;
        self.starts.iter().any(|start| method.starts_with(start.as_str())) || (self.bare && bare())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_s_classes_are_in_its_main_class_s_package() {
        let of = |names: &[&str]| OwnClasses::from_methods(names.iter().copied(), |class| class.starts_with("sun."));
        let own = of(&["com.acme.shop.Desk.main", "sun.launcher.LauncherHelper.main", "com.zaxxer.hikari.Pool.get"]);
        assert!(own.hold("com.acme.shop.Desk.serve") && own.hold("com.acme.db.Store$Row.read"));
        assert!(!own.hold("com.zaxxer.hikari.Pool.get") && !own.hold("com.acmetools.X.y") && !own.hold("Desk.serve"));
        let bare = of(&["Desk.main"]);
        assert!(bare.hold("Desk$Worker.run") && !bare.hold("com.zaxxer.hikari.Pool.get"));
        assert_eq!(of(&["org.springframework.boot.loader.JarLauncher.main", "x.Y.domain"]), OwnClasses::default());
    }
}
