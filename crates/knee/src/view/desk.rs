//! What is answered: the page, and stretches of its lanes. No address names a file, so none leads to another.
//! May import: report's page, form_urlencoded, serde_json.

use report::html::Served;
use report::html::detail::Stretch;
use std::collections::HashMap;

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

/// A page with what it asks for.
pub(crate) struct Desk {
    served: Served,
}

/// The names of a query. What is not a number of its kind is missing.
struct Query<'q>(HashMap<std::borrow::Cow<'q, str>, std::borrow::Cow<'q, str>>);

impl Query<'_> {
    fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.0.get(name)?.parse().ok()
    }

    fn stretch(&self) -> Option<Stretch> {
        Some(Stretch { run: self.number("run")?, from: self.number("from")?, to: self.number("to")? })
    }
}

impl Desk {
    pub(crate) fn new(served: Served) -> Desk {
        Desk { served }
    }

    /// The answer to the part of an address behind the token.
    pub(super) fn answer(&self, rest: &str) -> Answer {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let query = Query(form_urlencoded::parse(query.as_bytes()).collect());
        match path {
            "" => Answer { status: 200, kind: "text/html; charset=utf-8", body: self.served.page.clone() },
            "lanes" => self.lanes(&query).unwrap_or_else(|| wrong("run, from < to in nanoseconds, and columns")),
            "sums" => self.sums(&query).unwrap_or_else(|| wrong("run and from < to in nanoseconds")),
            "find" => self.find(&query).unwrap_or_else(|| wrong("run, at in nanoseconds, forward 0 or 1, and text")),
            _ => Answer::words(404, "there is nothing at this address"),
        }
    }

    fn lanes(&self, query: &Query<'_>) -> Option<Answer> {
        let body = self.served.detail.lanes(query.stretch()?, query.number("columns")?)?;
        Some(Answer { status: 200, kind: "application/octet-stream", body })
    }

    fn sums(&self, query: &Query<'_>) -> Option<Answer> {
        Some(Answer::json(&self.served.detail.sums(query.stretch()?)?))
    }

    fn find(&self, query: &Query<'_>) -> Option<Answer> {
        let forward = query.number::<u8>("forward")? == 1;
        let (run, at, text) = (query.number("run")?, query.number("at")?, query.0.get("text")?);
        Some(Answer::json(&self.served.detail.find(run, text, at, forward)?))
    }
}

fn wrong(needs: &str) -> Answer {
    Answer::words(400, &format!("the query needs {needs}, within the run"))
}
