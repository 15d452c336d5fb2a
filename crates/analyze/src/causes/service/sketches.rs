//! Servers that wait for other services.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::server::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::{PeerSide, Reason};

/// A server that ran already: each of its requests asks a service for a reply, and so many replies take so many
/// milliseconds in all; observed for a second.
fn asks(requests: u64, replies: u64, in_service: bool) -> Tables {
    const ASK: &str = "recv@libc.so.6 < query@server db.c:12 < answer@server server.c:30 < ?@libc.so.6";
    const NEXT: &str = "recv@libc.so.6 < serve@server server.c:21 < ?@libc.so.6";
    let mut tables = Sketch::new(2)
        .traced(4, |run| {
            for thread in 0..4 {
                let name = format!("worker-{thread}");
                let mut line = run.thread(&name);
                for _ in 0..20 {
                    line = line.runs(ms(5), WORK).blocks(Reason::Pipe, ms(40), ASK).blocks(Reason::Pipe, ms(5), NEXT);
                }
                let (service, clients) = if in_service { (800, 100) } else { (0, 900) };
                run.peer(&name, PeerSide::Service, "10.0.0.7:5432", (replies / 4, ms(replies / 4)), (ASK, ms(service)));
                run.peer(&name, PeerSide::Clients, "port 80", (requests / 4, ms(requests / 4)), (NEXT, ms(clients)));
            }
        })
        .tables();
    for trace in &mut tables.traces {
        trace.listens = Some(true);
    }
    tables
}

mod positive {
    use super::*;

    #[test]
    fn who_waits_for_a_service_is_told_which() {
        let answer = answer_for(&asks(4000, 3600, true));
        assert_balanced(&answer);
        assert!(only_none(&answer), "{:#?}", answer.verdict);
        let told = machine(&answer, CauseId::SERVICE_WAIT).unwrap();
        assert!(told.contains("replies of 10.0.0.7:5432") && told.contains("query (db.c:12)"), "{told}");
        assert!(told.ends_with("; of the 1.0 ms of each request, 900 µs wait for them"), "{told}");
        assert!(answer.verdict.summary.contains("The server waited for replies of 10.0.0.7:5432"), "{answer:#?}");
        assert!(!answer.verdict.clear.contains(&CauseId::IO_WAIT), "{:?}", answer.verdict.clear);
        let [requests] = answer.requests.as_slice() else { panic!("{:#?}", answer.requests) };
        assert_eq!((requests.count, requests.services[0].address.as_str()), (4000, "10.0.0.7:5432"));
        assert!((requests.services[0].share - 0.9).abs() < 1e-9, "{requests:#?}");
        // The account is per request: 2 s of two processors.
        assert!((answer.account[0].capacity * 4000.0 - 2.0).abs() < 0.05, "{:#?}", answer.account);
    }
}

mod near_miss {
    use super::*;

    /// Near miss: what ends the waits comes from clients, so threads wait for the next request.
    #[test]
    fn who_is_asked_little_waits_for_the_next_request() {
        let answer = answer_for(&asks(400, 360, false));
        assert!(machine(&answer, CauseId::SERVICE_WAIT).is_none(), "{:#?}", answer.verdict.machine);
        let told = machine(&answer, CauseId::LOAD_LIMIT).unwrap();
        assert!(told.starts_with("the server waited for requests for "), "{told}");
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_server_that_asks_nobody_waits_for_no_service() {
        let answer = answer_for(&loaded(repaired(), 0.3, 1));
        assert!(machine(&answer, CauseId::SERVICE_WAIT).is_none(), "{:#?}", answer.verdict.machine);
    }
}
