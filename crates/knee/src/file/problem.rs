//! How mistakes in a sweep file are shown: what, where, the line with a mark under it, and how to correct it.

use crate::failure::{Failure, Status};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;
use std::path::Path;

/// Beyond this number mistakes are only counted: the file is probably something else.
const MOST_SHOWN: usize = 8;

/// Names less similar than this are not mistyped forms of each other (Jaro-Winkler similarity, 1 for equal names; clap
/// uses the same measure and limit to suggest arguments).
const ALIKE: f64 = 0.7;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// Its place in the text, in bytes.
    pub(super) span: Range<usize>,
    pub(super) what: String,
    /// What to do about it.
    pub(super) help: Option<String>,
}

/// All mistakes of a file as one failure.
pub(super) fn failure(path: &Path, text: &str, problems: &[Problem]) -> Failure {
    let mut sorted: Vec<&Problem> = problems.iter().collect();
    sorted.sort_by_key(|p| p.span.start);
    let name = path.display().to_string();
    let mut shown = Vec::new();
    for problem in sorted.iter().take(MOST_SHOWN) {
        if !shown.is_empty() {
            shown.push(String::new());
        }
        shown.extend(render(&name, text, problem).lines().map(|line| line.trim_end().to_owned()));
    }
    if sorted.len() > MOST_SHOWN {
        shown.push(format!("... and {} more", sorted.len() - MOST_SHOWN));
    }
    let mistakes = report::words::plural(problems.len() as u64, "mistake");
    Failure::new(Status::Usage, format!("{name} has {mistakes}")).shown(shown)
}

fn render(path: &str, text: &str, problem: &Problem) -> String {
    // A span from the parser may be empty, or reach beyond the text.
    let start = floor(text, problem.span.start);
    let end = floor(text, problem.span.end).max(start);
    let mark = AnnotationKind::Primary.span(start..end);
    let mut groups =
        vec![Level::ERROR.primary_title(&*problem.what).element(Snippet::source(text).path(path).annotation(mark))];
    if let Some(help) = &problem.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(&**help)));
    }
    Renderer::plain().render(&groups)
}

/// The last character boundary at or before a byte.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The name that was probably meant.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = name.to_lowercase();
    let alike = |other: &'n str| (strsim::jaro_winkler(&lower, &other.to_lowercase()), other);
    let best = known.into_iter().map(alike).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(similarity, _)| *similarity > ALIKE).map(|(_, name)| name)
}
