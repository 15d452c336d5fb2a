//! A load that asks for less than the server could do.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::{Answer, CauseId};
use crate::common::server::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};
use recording::tables::{PeerSide, Reason, RunKind};

/// epoll_wait(2) on x86-64.
const EPOLL_WAIT: u32 = 232;

const WAIT: &str = "epoll_wait@libc.so.6 < serve@server server.c:20 < ?@libc.so.6";

/// A server that gets 600 requests per second whatever its number of threads, as much as one thread could do. It takes
/// `start` milliseconds to start before the load.
fn idle(start: u64) -> Tables {
    let rates = around(600.0);
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.6))
        .clean_cpu(2, &around(1.0), &around(0.6))
        .throughput(1, &rates)
        .throughput(2, &rates);
    let serve = |run: &mut recording::synthetic::RunSketch<'_>, threads: u64| {
        for thread in 0..threads {
            let mut thread = run.thread(&format!("worker-{thread}")).runs(ms(start), "load_tables@server server.c:9");
            for _ in 0..10 {
                let works = 60 / threads;
                thread = thread.runs(ms(works), WORK).waits_for(
                    Reason::Poll,
                    "eventpoll",
                    Some(EPOLL_WAIT),
                    ms(100 - works),
                    WAIT,
                );
            }
        }
        run.row().throughput = Some(600.0);
    };
    let mut tables = sketch.traced(1, |run| serve(run, 1)).traced(2, |run| serve(run, 2)).tables();
    for trace in &mut tables.traces {
        (trace.load_begin_ns, trace.load_end_ns) = (Some(ms(start)), Some(trace.end_ns));
        trace.load_ns = Some(0);
    }
    tables
}

/// Two workers that take turns at a lock, and wait for requests for so many of 100 ms.
fn queue_at_a_lock(requests: u64) -> Answer {
    let lock = "__lll_lock_wait@libc.so.6 < pthread_mutex_lock@libc.so.6 < store@server server.c:33 < ?@libc.so.6";
    let half = ms(50 - requests / 2);
    let serve = |run: &mut recording::synthetic::RunSketch<'_>, threads: u64| {
        for (name, other) in [("a", "b"), ("b", "a")].into_iter().take(threads as usize) {
            let mut thread = run.thread(name);
            for _ in 0..10 {
                thread = match (threads, name) {
                    (1, _) => thread.runs(2 * half, WORK),
                    (_, "a") => thread.runs(half, WORK).locks(0x100, half, lock, other),
                    _ => thread.locks(0x100, half, lock, other).runs(half, WORK),
                };
                thread = thread.waits_for(Reason::Poll, "eventpoll", Some(EPOLL_WAIT), ms(requests), WAIT);
            }
        }
        run.row().throughput = Some(1000.0);
    };
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.9))
        .clean_cpu(2, &around(1.0), &around(0.9))
        .throughput(1, &around(1000.0))
        .throughput(2, &around(1000.0));
    let mut tables = loaded(sketch.traced(1, |run| serve(run, 1)).traced(2, |run| serve(run, 2)).tables(), 0.1, 1);
    for trace in &mut tables.traces {
        (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(0));
    }
    answer_for(&tables)
}

mod positive {
    use super::*;

    #[test]
    fn a_busy_load_is_the_limit() {
        let answer = answer_for(&loaded(idle(0), 0.98, 1));
        assert_balanced(&answer);
        assert!(only_none(&answer), "{:#?}", answer.verdict);
        let told = machine(&answer, CauseId::LOAD_LIMIT).unwrap();
        assert!(
            told.starts_with("the load is the limit: it was busy all the time (0.98 of the one processor"),
            "{told}"
        );
        assert!(answer.verdict.summary.contains("The load is the limit"), "{}", answer.verdict.summary);
        assert!(
            answer.verdict.summary.ends_with("Nothing of its own was found beside that."),
            "{}",
            answer.verdict.summary
        );
        assert!(!answer.verdict.causes.iter().any(|cause| cause.id == CauseId::IO_WAIT));
        assert_eq!(answer.curve[1].load.map(|load| load.threads), Some(1));
    }

    #[test]
    fn a_load_that_asks_for_little_is_told_so() {
        for (seconds, threads) in [(0.3, 1), (0.98, 2)] {
            let answer = answer_for(&loaded(idle(0), seconds, threads));
            let told = machine(&answer, CauseId::LOAD_LIMIT).unwrap();
            assert!(told.contains("asked for no more"), "{told}");
            assert!(only_none(&answer), "{:#?}", answer.verdict);
        }
    }
}

mod near_miss {
    use super::*;

    /// 600 requests per second that take 1 ms each are 0.6 at a time; with 10 ms they are six, more than there are
    /// processors.
    #[test]
    fn requests_that_are_under_way_are_not_waited_for() {
        for (latency, part) in
            [(ms(1), "asked for no more: 0.60 requests at a time"), (ms(10), "6.0 requests at a time were under way")]
        {
            let mut tables = loaded(idle(0), 0.3, 1);
            tables.runs.iter_mut().for_each(|run| run.latency_median_ns = Some(latency));
            let told = machine(&answer_for(&tables), CauseId::LOAD_LIMIT).unwrap();
            assert!(told.contains(part), "{told}");
            let answer = answer_for(&tables);
            assert!(!answer.verdict.summary.contains("Apart from waiting for the load"), "{}", answer.verdict.summary);
            // Where other programs have the processors, the load may have waited for one.
            tables.runs.iter_mut().for_each(|run| run.foreign_ns = Some(ms(1000)));
            let told = machine(&answer_for(&tables), CauseId::LOAD_LIMIT).unwrap();
            assert_eq!(told.contains(part), latency == ms(1), "{told}");
        }
    }

    #[test]
    fn without_a_load_the_same_waits_are_input_and_output() {
        let mut tables = idle(0);
        for trace in &mut tables.traces {
            (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (None, None, None);
        }
        let answer = answer_for(&tables);
        assert!(machine(&answer, CauseId::LOAD_LIMIT).is_none());
        assert!(answer.account[1].lines.iter().any(|line| line.cause == CauseId::IO_WAIT), "{:#?}", answer.account);
    }
}

mod clean {
    use super::*;

    #[test]
    fn a_server_that_is_busy_all_the_time_waits_for_no_load() {
        let mut tables = loaded(repaired(), 0.3, 1);
        for trace in &mut tables.traces {
            (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(ms(300)));
        }
        let answer = answer_for(&tables);
        assert!(machine(&answer, CauseId::LOAD_LIMIT).is_none(), "{:#?}", answer.verdict);
    }
}

#[test]
fn what_a_server_does_before_its_load_counts_for_nothing() {
    let (at_once, later) = (answer_for(&loaded(idle(0), 0.98, 1)), answer_for(&loaded(idle(500), 0.98, 1)));
    assert_balanced(&later);
    for (a, b) in at_once.account.iter().zip(&later.account) {
        assert!((a.capacity - b.capacity).abs() < 1e-9 && (a.useful - b.useful).abs() < 1e-9, "{a:#?} {b:#?}");
        assert_eq!(a.lines.len(), b.lines.len(), "{a:#?} {b:#?}");
    }
    assert!(later.warnings.iter().all(|warning| !warning.contains("measured part")), "{:?}", later.warnings);
    assert!(later.growth.iter().all(|growth| growth.name != "load_tables"), "{:#?}", later.growth);
}

#[test]
fn the_larger_of_lock_and_load_comes_first() {
    let answer = queue_at_a_lock(10);
    assert_eq!(answer.verdict.causes[0].id, CauseId::USER_LOCK, "{:#?}", answer.verdict);
    assert!(machine(&answer, CauseId::LOAD_LIMIT).is_some(), "{:#?}", answer.verdict.machine);
    assert!(!answer.verdict.summary.contains("requests"), "{}", answer.verdict.summary);
    let answer = queue_at_a_lock(70);
    assert!(answer.verdict.summary.contains("The server waited for the load's requests"), "{}", answer.verdict.summary);
}

/// A server that ran before it was observed, and one that listens at nothing.
#[test]
fn who_listens_waits_for_requests() {
    let mut tables = idle(0);
    for trace in &mut tables.traces {
        (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (None, None, None);
        trace.listens = Some(true);
    }
    let told = machine(&answer_for(&tables), CauseId::LOAD_LIMIT).unwrap();
    assert!(told.starts_with("the server waited for requests, or for replies of other services, for "), "{told}");
    tables.traces.iter_mut().for_each(|trace| trace.listens = Some(false));
    assert!(machine(&answer_for(&tables), CauseId::LOAD_LIMIT).is_none());
}

/// Where the load prints no times, the requests that the server counts tell how many were under way: 1000 a second that
/// take 8 ms each are eight at a time. Near miss: with 1 ms each it is one.
#[test]
fn requests_that_the_server_counts_are_under_way() {
    for (each, part) in
        [(8, "at least 8.0 requests at a time were under way"), (1, "asked for no more, or waited itself")]
    {
        let mut tables = loaded(idle(0), 0.3, 1);
        let counted = Sketch::new(2)
            .traced(2, |run| {
                run.thread("worker-0").runs(ms(1000), WORK);
                run.peer("worker-0", PeerSide::Clients, "port 80", (1000, ms(1000 * each)), (WAIT, ms(10)));
            })
            .tables();
        let run = tables.runs.iter().filter(|run| run.kind == RunKind::Traced).map(|run| run.run).max().unwrap();
        let peers = counted.peers.into_iter().filter(|peer| peer.wait.is_none());
        tables.peers = peers.map(|peer| recording::tables::Peer { run, ..peer }).collect();
        let told = machine(&answer_for(&tables), CauseId::LOAD_LIMIT).unwrap();
        assert!(told.contains(part), "{told}");
    }
}

/// A thread accepts requests and hands them on: the others wait for what it waits for.
#[test]
fn workers_of_an_idle_acceptor_wait_for_the_load() {
    let take = "pthread_cond_wait@libc.so.6 < take@server queue.c:7 < worker@server server.c:50 < ?@libc.so.6";
    let serve = |run: &mut recording::synthetic::RunSketch<'_>, threads: u64| {
        let mut acceptor = run.thread("acceptor");
        for _ in 0..10 {
            acceptor = acceptor.runs(ms(2), "accept_one@server server.c:40 < ?@libc.so.6").waits_for(
                Reason::Pipe,
                "socket",
                Some(43),
                ms(98),
                "accept@libc.so.6 < accept_one@server server.c:41",
            );
        }
        for thread in 0..threads {
            let mut thread = run.thread(&format!("worker-{thread}"));
            for _ in 0..10 {
                let works = 60 / threads;
                thread = thread.runs(ms(works), WORK).locks(0x500, ms(100 - works), take, "acceptor");
            }
        }
        run.row().throughput = Some(600.0);
    };
    let rates = around(600.0);
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(0.62))
        .clean_cpu(2, &around(1.0), &around(0.62))
        .throughput(1, &rates)
        .throughput(2, &rates);
    let mut tables = loaded(sketch.traced(1, |run| serve(run, 1)).traced(2, |run| serve(run, 2)).tables(), 0.98, 1);
    for trace in &mut tables.traces {
        (trace.load_begin_ns, trace.load_end_ns, trace.load_ns) = (Some(0), Some(trace.end_ns), Some(0));
    }
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert!(only_none(&answer), "{:#?}", answer.verdict);
    assert!(machine(&answer, CauseId::LOAD_LIMIT).is_some(), "{:#?}", answer.verdict);
}
