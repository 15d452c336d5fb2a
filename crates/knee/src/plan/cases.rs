//! From variants of a program and values of parameters to the cases of a sweep.

use crate::plan::template::{PLACEHOLDER, Template, placeholder};
use recording::meta::Counted;

/// More cases than this mean a mistyped list: each is run at every thread count, several times.
const MOST_CASES: usize = 256;

/// A quantity that a sweep varies beside the thread count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// It is written `{name}` in the command.
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// One of the programs, or one way to call it, that a sweep compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) template: Template,
    /// Parameters that have values of their own in this variant.
    pub(crate) parameters: Vec<Parameter>,
    /// Causes that its author expects; empty when none was given.
    pub(crate) expect: Vec<String>,
}

/// A variant with one value of each parameter: what is run at every thread count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseSpec {
    pub(crate) variant: String,
    /// The parameters that differ between cases, in the order of the sweep.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) expect: Vec<String>,
    pub(crate) template: Template,
    /// Name of the recording's folder inside the sweep's.
    pub(crate) folder: String,
}

impl CaseSpec {
    /// What it is called on the screen: `per-thread, iterations=100`.
    pub(crate) fn label(&self) -> String {
        label(&self.variant, &self.parameters)
    }
}

/// What a case is called on the screen.
pub(crate) fn label(variant: &str, parameters: &[(String, String)]) -> String {
    let parameters = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    std::iter::once(variant.to_owned()).chain(parameters).collect::<Vec<_>>().join(", ")
}

/// All cases, in the order of the variants and of the parameters' values.
///
/// # Errors
/// As texts, when a placeholder is missing (a sweep over processors needs none for the count) or there are too many
/// cases.
pub(crate) fn expand(
    variants: &[Variant],
    parameters: &[Parameter],
    counted: Counted,
) -> Result<Vec<CaseSpec>, String> {
    let mut cases: Vec<CaseSpec> = Vec::new();
    for parameter in parameters {
        let used = variants.iter().any(|v| v.template.mentions(&placeholder(&parameter.name)));
        if !used {
            return Err(unused(&parameter.name));
        }
    }
    for variant in variants {
        let mut points = vec![(variant.template.clone(), Vec::new())];
        for parameter in parameters_of(variant, parameters) {
            let mark = placeholder(&parameter.name);
            let varies = parameter.values.len() > 1;
            points = points
                .iter()
                .flat_map(|(template, values)| parameter.values.iter().map(move |value| (template, values, value)))
                .map(|(template, values, value)| {
                    let mut values: Vec<(String, String)> = values.clone();
                    if varies && variant.template.mentions(&mark) {
                        values.push((parameter.name.clone(), value.clone()));
                    }
                    (template.with(&mark, value), values)
                })
                .collect();
            if cases.len() + points.len() > MOST_CASES {
                return Err(format!("more than {MOST_CASES} combinations of variants and parameters"));
            }
        }
        // A parameter that this variant does not use would give the same case several times.
        points.dedup_by(|a, b| a.0 == b.0);
        for (template, parameters) in points {
            if counted.is_threads() && !template.mentions(PLACEHOLDER) {
                return Err(format!(
                    "{PLACEHOLDER} occurs nowhere in {}, so every run would be the same",
                    variant.name
                ));
            }
            let (variant, expect) = (variant.name.clone(), variant.expect.clone());
            let folder = folder(&label(&variant, &parameters), &cases);
            cases.push(CaseSpec { variant, parameters, expect, template, folder });
        }
    }
    Ok(cases)
}

/// The message that a parameter would have no effect.
pub(crate) fn unused(parameter: &str) -> String {
    format!("the parameter {parameter} is used nowhere: write {} where its value belongs", placeholder(parameter))
}

/// The sweep's parameters, with the variant's own values where it has any, then parameters that only the variant has.
fn parameters_of<'p>(variant: &'p Variant, parameters: &'p [Parameter]) -> Vec<&'p Parameter> {
    let own = |name: &str| variant.parameters.iter().find(|p| p.name == name);
    let common = parameters.iter().map(|p| own(&p.name).unwrap_or(p));
    let only = variant.parameters.iter().filter(|p| parameters.iter().all(|common| common.name != p.name));
    common.chain(only).collect()
}

/// A folder name that needs no quotes in any shell, and that no other case has.
fn folder(label: &str, cases: &[CaseSpec]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=') { c } else { '_' };
    let name: String =
        label.replace(", ", ",").chars().take(60).map(|c| if c == ',' { ',' } else { plain(c) }).collect();
    // It must be neither `..` nor look like an option.
    let name = if name.starts_with(['.', '-']) { format!("_{name}") } else { name };
    let name = if name.is_empty() { "case".to_owned() } else { name };
    let taken = |name: &str| cases.iter().any(|case| case.folder == name);
    let numbered = (2..=MOST_CASES + 1).map(|n| format!("{name}-{n}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, values: &[&str]) -> Parameter {
        Parameter { name: name.into(), values: values.iter().map(|v| (*v).to_owned()).collect() }
    }

    fn variant(name: &str, argv: &[&str], parameters: Vec<Parameter>) -> Variant {
        let argv = argv.iter().map(Into::into).collect();
        let template = Template { argv, env: Vec::new(), folder: None, load: None };
        Variant { name: name.into(), template, parameters, expect: Vec::new() }
    }

    fn shown(cases: &[CaseSpec]) -> Vec<String> {
        let words = |case: &CaseSpec| {
            let argv: Vec<_> = case.template.argv.iter().map(|a| a.to_string_lossy()).collect();
            format!("{} | {} | {}", case.label(), case.folder, argv.join(" "))
        };
        cases.iter().map(words).collect()
    }

    #[test]
    fn every_combination_is_a_case() {
        let argv = ["sum", "{threads}", "{mode}", "{n}"];
        let variants = [
            variant("mapped", &argv, vec![parameter("mode", &["map"])]),
            variant("read", &argv, vec![parameter("mode", &["read"]), parameter("n", &["7"])]),
            variant("plain", &["plain", "{threads}"], Vec::new()),
        ];
        let cases = expand(&variants, &[parameter("n", &["0", "100"])], Counted::Threads).unwrap();
        assert_eq!(
            shown(&cases),
            [
                "mapped, n=0 | mapped,n=0 | sum {threads} map 0",
                "mapped, n=100 | mapped,n=100 | sum {threads} map 100",
                "read | read | sum {threads} read 7",
                "plain | plain | plain {threads}",
            ]
        );
    }

    #[test]
    fn folders_are_harmless_and_differ() {
        let argv = ["p", "{threads}"];
        let variants = ["a/b", "a?b", "../x", "-rf", "日本", ""].map(|name| variant(name, &argv, Vec::new()));
        let folders: Vec<String> =
            expand(&variants, &[], Counted::Threads).unwrap().into_iter().map(|case| case.folder).collect();
        assert_eq!(folders, ["a_b", "a_b-2", "_.._x", "_-rf", "__", "case"]);
    }

    #[test]
    fn mistakes_are_named() {
        let good = variant("v", &["p", "{threads}"], Vec::new());
        let error = expand(std::slice::from_ref(&good), &[parameter("n", &["1"])], Counted::Threads).unwrap_err();
        assert!(error.contains("write {n}"), "{error}");
        assert!(
            expand(&[variant("v", &["p"], Vec::new())], &[], Counted::Threads)
                .unwrap_err()
                .contains("{threads} occurs nowhere in v")
        );
        let many: Vec<String> = (0..300).map(|n| n.to_string()).collect();
        let parameter = Parameter { name: "n".into(), values: many };
        let wide = variant("v", &["p", "{threads}", "{n}"], Vec::new());
        assert!(expand(&[wide], &[parameter], Counted::Threads).unwrap_err().contains("more than 256"));
    }
}
