//! The answers: the page, and parts of its lanes. No address names a file, so none can lead to a file of the machine.

use report::html::Served;
use report::html::detail::TimeRange;
use report::text;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A body with its status and kind.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn words(status: u16, words: &str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", body: format!("{words}\n").into_bytes() }
    }

    fn json(value: &serde_json::Value) -> Answer {
        Answer { status: 200, kind: "application/json", body: value.to_string().into_bytes() }
    }
}

/// Makes the page of a case, by its number.
type Make = Box<dyn Fn(usize) -> anyhow::Result<Served> + Send + Sync>;

/// How many pages of cases are kept. People who compare go back and forth, but a page holds every slice of its lanes.
const MOST_CASES: usize = 4;

/// What is served.
pub(crate) enum ServedPages {
    /// A page with the data it requests.
    One(Box<Served>),
    /// The page of several cases, and below it one page per case, made on request.
    Several {
        /// The page.
        page: Vec<u8>,
        /// How many cases.
        cases: usize,
        /// Makes the page of a case.
        make: Make,
        /// The pages that were made, the most recently used last.
        made: Mutex<Vec<(usize, Arc<Served>)>>,
    },
}

/// The names and values of a query. A value that is not a number of the wanted type counts as missing.
struct Query<'q>(HashMap<std::borrow::Cow<'q, str>, std::borrow::Cow<'q, str>>);

impl Query<'_> {
    fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.0.get(name)?.parse().ok()
    }

    fn range(&self) -> Option<TimeRange> {
        Some(TimeRange { run: self.number("run")?, from: self.number("from")?, to: self.number("to")? })
    }
}

impl ServedPages {
    /// One page.
    pub(crate) fn one(served: Served) -> ServedPages {
        ServedPages::One(Box::new(served))
    }

    /// Several cases.
    pub(crate) fn several(page: Vec<u8>, cases: usize, make: Make) -> ServedPages {
        ServedPages::Several { page, cases, make, made: Mutex::default() }
    }

    /// The answer to the part of an address after the token.
    pub(super) fn answer(&self, rest: &str) -> Answer {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        match self {
            ServedPages::One(served) => of_page(served, path, query),
            ServedPages::Several { page, .. } if path.is_empty() => html(page.clone()),
            ServedPages::Several { cases, make, made, .. } => {
                let Some((case, path)) = path.split_once('/').and_then(|(case, path)| Some((number(case)?, path)))
                else {
                    return nothing();
                };
                if case >= *cases {
                    return nothing();
                }
                match page_of(case, make, made) {
                    Ok(served) => of_page(&served, path, query),
                    Err(error) => Answer::words(500, &text::harmless(&format!("{error:#}"))),
                }
            }
        }
    }
}

/// Only digits, without a sign, so that each case has one address.
fn number(text: &str) -> Option<usize> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The page of a case: a kept one, or a new one. Other requests wait meanwhile.
fn page_of(case: usize, make: &Make, made: &Mutex<Vec<(usize, Arc<Served>)>>) -> anyhow::Result<Arc<Served>> {
    let mut made = made.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let served = match made.iter().position(|(number, _)| *number == case) {
        Some(at) => made.remove(at).1,
        None => Arc::new(make(case)?),
    };
    made.push((case, Arc::clone(&served)));
    let surplus = made.len().saturating_sub(MOST_CASES);
    made.drain(..surplus);
    Ok(served)
}

/// The answer to a request of a page.
fn of_page(served: &Served, path: &str, query: &str) -> Answer {
    let query = Query(form_urlencoded::parse(query.as_bytes()).collect());
    match path {
        "" => html(served.page.clone()),
        "lanes" => lanes(served, &query).unwrap_or_else(|| wrong("run, from < to in nanoseconds, and columns")),
        "sums" => sums(served, &query).unwrap_or_else(|| wrong("run and from < to in nanoseconds")),
        "find" => find(served, &query).unwrap_or_else(|| wrong("run, at in nanoseconds, forward 0 or 1, and text")),
        _ => nothing(),
    }
}

fn html(body: Vec<u8>) -> Answer {
    Answer { status: 200, kind: "text/html; charset=utf-8", body }
}

fn nothing() -> Answer {
    Answer::words(404, "there is nothing at this address")
}

fn lanes(served: &Served, query: &Query<'_>) -> Option<Answer> {
    let body = served.detail.lanes(query.range()?, query.number("columns")?)?;
    Some(Answer { status: 200, kind: "application/octet-stream", body })
}

fn sums(served: &Served, query: &Query<'_>) -> Option<Answer> {
    Some(Answer::json(&served.detail.sums(query.range()?)?))
}

fn find(served: &Served, query: &Query<'_>) -> Option<Answer> {
    let forward = query.number::<u8>("forward")? == 1;
    let (run, at, text) = (query.number("run")?, query.number("at")?, query.0.get("text")?);
    Some(Answer::json(&served.detail.find(run, text, at, forward)?))
}

fn wrong(needs: &str) -> Answer {
    Answer::words(400, &format!("the query needs {needs}, within the run"))
}
