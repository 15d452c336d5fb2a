//! The answer as SARIF 2.1.0 (OASIS standard, 2020): what code scanning shows at the lines of a pull request.
//!
//! One result per cause, at the first place that lies in the repository: the culprit's own, else its caller's. A place
//! outside of it (a library's source) is given by its whole path; where no source line is known, by the name of the
//! function.

use crate::culprit::{WITHOUT_END, blame};
use crate::repository::relative;
use crate::text::{harmless, sentence};
use crate::words;
use analyze::answer::{Answer, Cause, CauseId, Culprit, Site};
use analyze::causes::describe;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// The name by which results refer to the repository's folder.
const ROOT: &str = "SRCROOT";

/// Writes the answer. `root` is the repository's folder: places below it are told relative to it.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &Answer, root: &Path, out: &mut impl Write) -> io::Result<()> {
    let causes: Vec<&Cause> = answer.verdict.found().collect();
    let mut ids: Vec<CauseId> = causes.iter().map(|cause| cause.id).collect();
    ids.sort();
    ids.dedup();
    let rules: Vec<Value> = ids.iter().map(|id| rule(*id)).collect();
    // The costliest cause is a warning; the others are for information, as are the small losses of a program that scales.
    let level = |index| if index == 0 && !answer.verdict.only_small_losses() { "warning" } else { "note" };
    let results: Vec<Value> =
        causes.iter().enumerate().map(|(i, cause)| result(level(i), cause, answer, root)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "knee", "version": answer.knee.version, "rules": rules } },
            "originalUriBaseIds": { ROOT: { "description": { "text": "The root of the repository." } } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": { "summary": harmless(&answer.verdict.summary) },
        }],
    });
    crate::json::render(&log, out)
}

fn rule(id: CauseId) -> Value {
    match describe(id) {
        Some(meta) => json!({
            "id": id.name(),
            "shortDescription": { "text": meta.title },
            "fullDescription": { "text": meta.what },
            "help": { "text": format!("{} {}", meta.why, meta.disproved_by) },
            "defaultConfiguration": { "level": "warning" },
        }),
        None => json!({ "id": id.name() }),
    }
}

fn result(level: &str, cause: &Cause, answer: &Answer, root: &Path) -> Value {
    let mut text = format!(
        "{} {} of the lost processor time with {}.",
        sentence(&cause.summary),
        words::percent(cause.share),
        answer.counted.many(cause.threads)
    );
    if let Some(culprit) = &cause.culprit {
        text += &format!(" Where: {}.", blame(culprit, WITHOUT_END, harmless));
    }
    for remedy in &cause.remedies {
        text += &format!(" {}", sentence(remedy));
    }
    let sites = cause.culprit.as_ref().map(places).unwrap_or_default();
    // Places that the reviewer can change come first.
    let first = sites
        .iter()
        .position(|site| relative(site.path.as_deref().or(site.file.as_deref()), root).is_some())
        .unwrap_or(0);
    let mut value = json!({
        "ruleId": cause.id.name(),
        "level": level,
        "message": { "text": harmless(&text) },
        "properties": {
            "share": cause.share,
            "lostSeconds": cause.lost_seconds,
            "threads": cause.threads,
        },
    });
    if let Some(site) = sites.get(first) {
        value["locations"] = json!([location(site, root)]);
        let others: Vec<Value> =
            sites.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, site)| location(site, root)).collect();
        if !others.is_empty() {
            value["relatedLocations"] = Value::Array(others);
        }
        // The same cause in the same function is the same finding, even when the line moves.
        let function = site.function.as_deref().unwrap_or_default();
        let print = format!("{}:{}:{}", cause.id.name(), site.file.as_deref().unwrap_or(&site.module), function);
        value["partialFingerprints"] = json!({ "cause/v1": harmless(&print) });
    }
    value
}

/// The culprit's place, then its callers'.
fn places(culprit: &Culprit) -> Vec<Site> {
    let mut all = vec![culprit.site()];
    all.extend(culprit.callers.iter().cloned());
    all
}

fn location(site: &Site, root: &Path) -> Value {
    let mut value = json!({});
    let artifact = match (
        relative(site.path.as_deref().or(site.file.as_deref()), root),
        site.path.as_deref().filter(|path| path.starts_with('/')),
    ) {
        (Some(inside), _) => Some(json!({ "uri": uri(&inside), "uriBaseId": ROOT })),
        (None, Some(path)) => Some(json!({ "uri": format!("file://{}", uri(path)) })),
        (None, None) => None,
    };
    if let Some(artifact) = artifact {
        value["physicalLocation"] = json!({ "artifactLocation": artifact });
        if let Some(line) = site.line.filter(|line| *line > 0) {
            value["physicalLocation"]["region"] = json!({ "startLine": line });
        }
    }
    if let Some(function) = &site.function {
        value["logicalLocations"] = json!([{ "fullyQualifiedName": harmless(function), "kind": "function" }]);
    }
    value
}

/// A path as the path of a URI (RFC 3986, section 3.3): everything else is escaped.
fn uri(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' | b'@' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Site {
        Site {
            function: None,
            module: "x".to_owned(),
            file: None,
            path: Some(path.to_owned()),
            relative: None,
            line: Some(3),
            address: String::new(),
        }
    }

    #[test]
    fn places_outside_of_the_repository_have_their_whole_path() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let value = location(&at("/usr/my lib/x.c"), root);
        assert_eq!(value["physicalLocation"]["artifactLocation"]["uri"], "file:///usr/my%20lib/x.c");
        assert_eq!(value["physicalLocation"]["region"]["startLine"], 3);
    }
}
