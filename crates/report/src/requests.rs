//! What a server answered, in words.

use crate::words::{about, number, percent, plural};
use analyze::answer::{Answer, ServiceReplies};

/// Services that are told of.
const MOST: usize = 3;

/// One line for the requests of each run, and one for each of the services that they asked; `brief`: of the last run.
pub fn lines(answer: &Answer, brief: bool) -> Vec<String> {
    let alone = answer.curve.is_empty();
    let mut lines = Vec::new();
    let left_out = if brief { answer.requests.len().saturating_sub(1) } else { 0 };
    for run in answer.requests.iter().skip(left_out) {
        let of = if alone { String::new() } else { format!(" with {}", answer.counted.many(run.threads)) };
        lines.push(format!(
            "{}{of}, {} a second; each took {} until the answer began",
            plural(run.count, "request"),
            number(run.per_second, 0),
            about(run.seconds)
        ));
        lines.extend(run.services.iter().take(MOST).map(service));
    }
    lines
}

fn service(service: &ServiceReplies) -> String {
    let program = service.program.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    format!(
        "{}{program}: asked {} times a request, each reply after {}, {} of the requests' time",
        service.address,
        number(service.replies_per_request, 1),
        about(service.seconds),
        percent(service.share)
    )
}
