//! Servers under load.

use analyze::answer::{Answer, CauseId};
use recording::Tables;
use recording::synthetic::ms;
use recording::tables::RunKind;

pub(crate) const WORK: &str = "answer@server server.c:30 < serve@server server.c:24 < ?@libc.so.6";

/// Sets for how many seconds of each run the load ran, and on how many threads.
pub(crate) fn loaded(mut tables: Tables, seconds: f64, threads: u32) -> Tables {
    for run in &mut tables.runs {
        (run.load_ns, run.load_threads) = (Some((seconds * 1e9) as u64), Some(threads));
        if run.kind == RunKind::Traced {
            run.wall_ns = ms(1000);
        }
    }
    let command = ["wrk", "http://localhost/"].map(str::to_owned).to_vec();
    tables.meta.load = Some(recording::meta::Load { command, processors: Vec::new(), ready: None });
    tables
}

pub(crate) fn machine(answer: &Answer, id: CauseId) -> Option<String> {
    answer.verdict.machine.iter().find(|condition| condition.id == id).map(|condition| condition.summary.clone())
}
