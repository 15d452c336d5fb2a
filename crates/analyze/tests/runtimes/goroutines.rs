//! What threads of Go's runtime wait for, by the goroutine that each ran last and by what wakes them.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::*;
use analyze::answer::{Answer, CauseId};
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::{Peer, PeerSide};

const WORK: &str = "main.work@app a.go:5 < main.main.func1@app a.go:40 < runtime.goexit@app";
const HOLD: &str = "main.update@app a.go:21 < main.main.func1@app a.go:40 < runtime.goexit@app";

/// The stack of a sleep: the scheduler's part, then what it came from.
fn sleeps(after: &str) -> String {
    let scheduler = "runtime.futex@app < runtime.notesleep@app < runtime.stopm@app < runtime.findRunnable@app < \
                     runtime.schedule@app";
    format!("{scheduler} < {after} < main.main.func1@app a.go:40 < runtime.goexit@app")
}

/// A goroutine that waits in a library function, called from one of the program.
fn parked(library: &str, own: &str) -> String {
    sleeps(&format!("runtime.park_m@app < runtime.mcall@app < runtime.gopark@app < {library} < {own}"))
}

fn wakes(library: &str, own: &str) -> String {
    format!(
        "runtime.futex@app < runtime.notewakeup@app < runtime.wakep@app < runtime.ready@app < runtime.systemstack@app < \
         runtime.goready@app < {library} < {own} < main.main.func1@app a.go:40 < runtime.goexit@app"
    )
}

const LOCK: &str = "runtime.semacquire1@app < sync.(*Mutex).lockSlow@app < sync.(*Mutex).Lock@app";
const UNLOCK: &str = "runtime.semrelease1@app < sync.(*Mutex).unlockSlow@app < sync.(*Mutex).Unlock@app";
const TOUCH: &str = "main.touch@app a.go:19";

/// Two threads that work in turn, for ten milliseconds each, in `running`; the other sleeps at `sleep` and is woken at
/// `wake`.
fn turns(running: &str, sleep: &str, wake: &str) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    with_base(sketch, running).traced(2, |run| alternate(run, running, sleep, wake, None)).tables()
}

/// The same for one run. `then`: where the first works for one more second while the other sleeps on, and where that is
/// woken.
fn alternate(run: &mut RunSketch<'_>, running: &str, sleep: &str, wake: &str, then: Option<(&str, &str)>) {
    for (i, name) in ["a", "b"].into_iter().enumerate() {
        let other = ["b", "a"][i];
        let mut thread = run.thread(name);
        for round in 0..100_usize {
            thread = match round % 2 == i {
                true => thread.runs(ms(10), running),
                false => thread.locks(0x100 + i as u64, ms(10), sleep, other).woken_at(wake),
            };
        }
        match then {
            Some((elsewhere, _)) if i == 0 => drop(thread.runs(ms(1000), elsewhere)),
            Some((_, wake)) => drop(thread.locks(0x100 + i as u64, ms(1000), sleep, other).woken_at(wake)),
            None => {}
        }
    }
}

fn first(answer: &Answer) -> Option<(CauseId, &str)> {
    let cause = answer.verdict.causes.first()?;
    Some((cause.id, cause.culprit.as_ref()?.function.as_deref()?))
}

#[test]
fn a_mutex_is_named_by_the_line_at_which_goroutines_wait_for_it() {
    let answer = answer_for(&turns(HOLD, &parked(LOCK, TOUCH), &wakes(UNLOCK, "main.touch@app a.go:21")));
    assert_balanced(&answer);
    assert_eq!(first(&answer), Some((CauseId::USER_LOCK, "main.touch")), "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].share > 0.9, "{:#?}", answer.verdict);
}

/// A server's threads last ran goroutines that wait for requests, and sleep until a lock is released. For how much of
/// that time a goroutine waited for the lock is not known: nothing is claimed, but the place is told.
#[test]
fn a_release_that_ends_sleeps_of_another_kind_is_told_as_where_to_look() {
    let poll = parked("runtime.netpollblock@app < internal/poll.runtime_pollWait@app", "main.serve@app a.go:70");
    let answer = answer_for(&turns(HOLD, &poll, &wakes(UNLOCK, "main.touch@app a.go:21")));
    assert!(
        missing(&answer, CauseId::USER_LOCK).contains("main.touch (a.go:21) released one"),
        "{:#?}",
        answer.verdict
    );
    // Near miss: a message ends the sleeps.
    let send = "runtime.send@app < runtime.chansend@app < runtime.chansend1@app";
    let answer = answer_for(&turns(HOLD, &poll, &wakes(send, "main.touch@app a.go:21")));
    assert!(!missing(&answer, CauseId::USER_LOCK).contains("released"), "{:#?}", answer.verdict);
}

/// The goroutine moved on long ago: a new goroutine wakes its thread.
#[test]
fn a_lock_that_does_not_wake_the_thread_is_not_what_it_sleeps_for() {
    let answer = answer_for(&turns(WORK, &parked(LOCK, TOUCH), &wakes("runtime.newproc@app", "main.main@app a.go:60")));
    assert_balanced(&answer);
    assert!(found(&answer, CauseId::USER_LOCK).is_none(), "{:#?}", answer.verdict);
    assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("no goroutine"), "{:#?}", answer.verdict);
    // The lock is not excluded either: what goroutines wait for cannot be seen.
    assert!(missing(&answer, CauseId::USER_LOCK).contains("no task that can run"), "{:#?}", answer.verdict);
}

#[test]
fn one_long_sleep_that_ends_otherwise_is_not_the_lock_s() {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(2.0), &around(2.0));
    let (lock, unlock) = (parked(LOCK, TOUCH), wakes(UNLOCK, "main.touch@app a.go:21"));
    let then =
        ("main.merge@app a.go:50 < main.main@app a.go:61", wakes("runtime.newproc@app", "main.main@app a.go:60"));
    let tables =
        with_base(sketch, WORK).traced(2, |run| alternate(run, HOLD, &lock, &unlock, Some((then.0, &then.1)))).tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let lock = found(&answer, CauseId::USER_LOCK).unwrap();
    assert!(lock.lost_seconds > 0.9 && lock.lost_seconds < 1.2, "{:#?}", answer.verdict);
}

#[test]
fn channels_are_work_that_is_handed_over() {
    let (send, receive) =
        ("runtime.chansend@app < runtime.chansend1@app", "runtime.chanrecv@app < runtime.chanrecv1@app");
    let answer =
        answer_for(&turns(WORK, &parked(send, "main.ask@app a.go:38"), &wakes(receive, "main.serve@app a.go:31")));
    assert_balanced(&answer);
    assert_eq!(first(&answer), Some((CauseId::CONDITION_WAIT, "main.work")), "{:#?}", answer.verdict);
    let waits = answer.verdict.causes[0].evidence.iter().find(|e| e.what.contains("main.ask (a.go:38)"));
    assert!(waits.is_some_and(|e| e.value > 0.9), "{:#?}", answer.verdict.causes[0].evidence);
}

#[test]
fn a_goroutine_that_had_gone_on_before_its_thread_slept_waited_like_the_others() {
    let moved = "runtime.futex@app < runtime.notesleep@app < runtime.stopm@app < runtime.findRunnable@app < \
                 runtime.schedule@app < runtime.park_m@app < runtime.mcall@app";
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let (lock, unlock) = (parked(LOCK, TOUCH), wakes(UNLOCK, "main.touch@app a.go:21"));
    let tables = with_base(sketch, HOLD)
        .traced(2, |run| {
            let mut a = run.thread("a");
            for round in 0..50_usize {
                let sleep = if round % 5 < 2 { moved } else { &lock };
                a = a.runs(ms(10), HOLD).locks(0x100, ms(10), sleep, "b").woken_at(&unlock);
            }
            let mut b = run.thread("b");
            for _ in 0..50 {
                b = b.locks(0x200, ms(10), &lock, "a").woken_at(&unlock).runs(ms(10), HOLD);
            }
        })
        .tables();
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    assert_eq!(first(&answer), Some((CauseId::USER_LOCK, "main.touch")), "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].share > 0.9, "{:#?}", answer.verdict);
}

#[test]
fn goroutines_that_sleep_by_the_clock_are_told_from_those_that_others_wake() {
    let sleep = parked("time.Sleep@app", "main.poll@app a.go:9");
    let scheduler = "runtime.futex@app < runtime.wakep@app < runtime.resetspinning@app < runtime.schedule@app < \
                     runtime.park_m@app < runtime.mcall@app";
    let answer = answer_for(&turns(WORK, &sleep, scheduler));
    assert_balanced(&answer);
    assert_eq!(first(&answer), Some((CauseId::CONDITION_WAIT, "main.poll")), "{:#?}", answer.verdict);
    let answer = answer_for(&turns(WORK, &sleep, &wakes(UNLOCK, TOUCH)));
    assert!(missing(&answer, CauseId::CONDITION_WAIT).contains("no goroutine"), "{:#?}", answer.verdict);
}

/// The same in a server whose requests were counted. Near miss: a server of which none were.
#[test]
fn requests_that_sleep_are_told_beside_the_server_s_causes() {
    let sleep = parked("time.Sleep@app", "main.write@app a.go:26");
    let scheduler = "runtime.futex@app < runtime.wakep@app < runtime.resetspinning@app < runtime.schedule@app < \
                     runtime.park_m@app < runtime.mcall@app";
    let verdict = |requests: u64| {
        let mut tables = turns(WORK, &sleep, scheduler);
        let rows: Vec<_> = tables.threads.iter().map(|thread| (thread.run, thread.thread)).collect();
        tables.peers.extend(rows.into_iter().map(|(run, thread)| Peer {
            run,
            thread,
            wait: None,
            side: PeerSide::Clients,
            address: "port 80".to_owned(),
            name: None,
            exchanges: requests,
            exchange_ns: ms(10) * requests,
            longest_ns: ms(10),
            waits: 0,
            waited_ns: 0,
        }));
        tables.traces.iter_mut().for_each(|trace| trace.listens = Some(true));
        answer_for(&tables).verdict
    };
    let (counted, not) = (verdict(50), verdict(0));
    let told = counted.machine.iter().find(|condition| condition.id == CauseId::SERVICE_WAIT).unwrap();
    assert!(told.summary.ends_with("while requests slept in main.write (a.go:26)"), "{}", told.summary);
    assert!(counted.causes.iter().all(|cause| cause.id != CauseId::CONDITION_WAIT), "{counted:#?}");
    assert!(!counted.clear.contains(&CauseId::CONDITION_WAIT), "{:?}", counted.clear);
    assert!(not.machine.iter().all(|condition| condition.id != CauseId::SERVICE_WAIT), "{not:#?}");
    assert!(not.causes.iter().any(|cause| cause.id == CauseId::CONDITION_WAIT), "{not:#?}");
}

const ENDED: &str = "runtime.goexit0@app < runtime.mcall@app < runtime.goexit1@app";
const PREEMPTED: &str =
    "runtime.goschedImpl@app < runtime.gopreempt_m@app < runtime.mcall@app < runtime.asyncPreempt2@app";

/// Two goroutines side by side, then only the one that has more to do; it moves from thread to thread.
fn shares(beside: &str, alone: &str, other_waits: u64) -> Tables {
    shares_seen(beside, alone, other_waits, None)
}

/// The same; what goroutines were seen to wait for, every ten milliseconds.
fn shares_seen(beside: &str, alone: &str, other_waits: u64, waiting: Option<&[(&str, u32)]>) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(0.7), &around(1.0));
    let (ended, preempted) = (sleeps(ENDED), sleeps(PREEMPTED));
    let wakes = format!("runtime.futex@app < runtime.wakep@app < {PREEMPTED} < {alone}");
    with_base(sketch, WORK)
        .traced(2, |run| {
            let mut a = run.thread("a").runs(ms(300), beside);
            if other_waits > 0 {
                a = a.locks(0x200, ms(other_waits), &parked(LOCK, TOUCH), "b");
            }
            a = a.locks(0x200, ms(100 - other_waits), &ended, "b").woken_at(&wakes);
            for _ in 0..3 {
                a = a.runs(ms(50), alone).locks(0x200, ms(50), &preempted, "b").woken_at(&wakes);
            }
            let mut b = run.thread("b").runs(ms(400), alone);
            for _ in 0..3 {
                b = b.locks(0x300, ms(50), &preempted, "a").woken_at(&wakes).runs(ms(50), alone);
            }
            if let Some(waiting) = waiting {
                (0..70).for_each(|look| run.look(ms(10 * look), waiting));
            }
        })
        .tables()
}

#[test]
fn goroutines_of_unequal_shares_are_an_imbalance() {
    let answer = answer_for(&shares(WORK, WORK, 0));
    assert_balanced(&answer);
    assert_eq!(first(&answer), Some((CauseId::IMBALANCE, "main.work")), "{:#?}", answer.verdict);
    assert!(answer.verdict.causes[0].summary.contains("main.main.func1"), "{}", answer.verdict.causes[0].summary);
}

#[test]
fn what_starts_goroutines_one_by_one_and_goroutines_that_wait_are_no_imbalance() {
    let starter = "main.prepare@app a.go:7 < main.main@app a.go:61 < runtime.main@app < runtime.goexit@app";
    let answer = answer_for(&shares(WORK, starter, 0));
    assert!(missing(&answer, CauseId::IMBALANCE).contains("what starts the others"), "{:#?}", answer.verdict);
    let answer = answer_for(&shares(WORK, WORK, 50));
    assert!(missing(&answer, CauseId::IMBALANCE).contains("others wait"), "{:#?}", answer.verdict);
}

/// A thread's last goroutine had waited for a lock: whether any still does is known from the goroutines alone.
#[test]
fn goroutines_that_were_seen_to_wait_for_nothing_else_have_ended() {
    let main = "runtime.gopark@app < runtime.semacquire1@app < sync.(*WaitGroup).Wait@app < main.main@app a.go:62 < \
                runtime.main@app < runtime.goexit@app";
    let service = "runtime.gopark@app < runtime.goparkunlock@app < runtime.bgsweep@app < runtime.goexit@app";
    let answer = answer_for(&shares_seen(WORK, WORK, 50, Some(&[(main, 1), (service, 2)])));
    assert_eq!(first(&answer), Some((CauseId::IMBALANCE, "main.work")), "{:#?}", answer.verdict);
    // The near miss: one waits for a message.
    let queue =
        "runtime.gopark@app < runtime.chanrecv@app < runtime.chanrecv1@app < main.log@app a.go:70 < runtime.goexit@app";
    let answer = answer_for(&shares_seen(WORK, WORK, 50, Some(&[(main, 1), (queue, 1)])));
    assert!(missing(&answer, CauseId::IMBALANCE).contains("others wait"), "{:#?}", answer.verdict);
}

/// A pool tells its caller by a channel that all is done.
#[test]
fn the_first_goroutine_waits_at_a_channel_for_the_end_of_others() {
    let at = |function: &str, timer: Option<bool>| {
        let main = format!(
            "runtime.gopark@app < runtime.selectgo@app < pool.(*group).Wait@app < {function}@app a.go:62 < runtime.goexit@app"
        );
        let mut tables = shares_seen(WORK, WORK, 50, Some(&[(&main, 1)]));
        tables.parked_tasks.iter_mut().for_each(|look| look.timer = timer);
        answer_for(&tables)
    };
    let answer = at("main.main", None);
    assert_eq!(first(&answer), Some((CauseId::IMBALANCE, "main.work")), "{:#?}", answer.verdict);
    // Near misses: it waits for the clock; and it is not the first one.
    for answer in [at("main.main", Some(true)), at("main.collect", None)] {
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
    }
}

const REPORT: &str = "main.report@app a.go:9 < main.main@app a.go:60 < runtime.main@app < runtime.goexit@app";

/// Goroutine 1 moves between two threads as long as it runs; the reasons of the sleeps in between are unknown. `other`
/// runs for 10 ms at the start in goroutine 2, and for 10 ms again after the round `again`.
fn wanders(goroutines: [Option<u64>; 2], other: &str, again: Option<usize>) -> Answer {
    let preempted = sleeps(PREEMPTED);
    let wakes = format!("runtime.futex@app < runtime.wakep@app < {PREEMPTED} < {WORK}");
    wanders_asleep(goroutines, other, again, (&preempted, &wakes))
}

fn wanders_asleep(
    goroutines: [Option<u64>; 2],
    other: &str,
    again: Option<usize>,
    (preempted, wakes): (&str, &str),
) -> Answer {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let tables = with_base(sketch, WORK).traced(2, |run| {
        for (i, name) in ["a", "b"].into_iter().enumerate() {
            let mut thread = run.thread(name);
            thread.goroutine_is(Some(0xa000));
            thread = thread.runs(ms(10), REPORT);
            thread.goroutine_is(goroutines[i]);
            thread = thread.runs(ms(10), [WORK, other][i]);
            thread.goroutine_is(goroutines[0]);
            for round in 0..100_usize {
                thread = match round % 2 == i {
                    true => thread.runs(ms(10), WORK),
                    false => thread.locks(0x200 + i as u64, ms(10), preempted, ["b", "a"][i]).woken_at(wakes),
                };
                if again == Some(round) {
                    thread.goroutine_is(goroutines[i]);
                    thread = thread.runs(ms(10), [WORK, other][i]);
                    thread.goroutine_is(goroutines[0]);
                }
            }
            // The first goroutine waits for the others all the time.
            thread.goroutine_is(Some(0xa000));
            let _ = thread.runs(ms(10), REPORT);
        }
        // A thread without goroutines, whatever wakes it.
        let spare = "runtime.futex@app < runtime.notetsleep_internal@app < runtime.sysmon@app < runtime.mstart1@app";
        run.thread("c").locks(0x900, ms(1000), spare, "a").woken_at(wakes);
    });
    let answer = answer_for(&tables.tables());
    assert_balanced(&answer);
    answer
}

#[test]
fn of_goroutines_that_have_not_run_again_nobody_waits() {
    let answer = wanders([Some(0xc000), Some(0xd000)], WORK, None);
    assert_eq!(first(&answer), Some((CauseId::IMBALANCE, "main.work")), "{:#?}", answer.verdict);
    let row = |what: &str| answer.verdict.causes[0].evidence.iter().find(|e| e.what == what).unwrap().value;
    assert_eq!(row("goroutines seen to run it"), 2.0);
    assert!((row("CPU time of the longest") - 1.0).abs() < 0.02);
    assert!((row("CPU time of the middle one of the others") - 0.01).abs() < 0.002);
}

#[test]
fn a_goroutine_that_runs_again_or_that_nobody_saw_may_have_waited() {
    let other = "main.collect@app a.go:9 < main.main.func2@app a.go:50 < runtime.goexit@app";
    for (goroutines, other, again) in [
        ([Some(0xc000), Some(0xd000)], WORK, Some(99)),
        ([Some(0xc000), Some(0xd000)], WORK, Some(60)),
        // It never ran beside another one of its function.
        ([Some(0xc000), Some(0xd000)], other, None),
        ([None, None], WORK, None),
    ] {
        let answer = wanders(goroutines, other, again);
        assert!(found(&answer, CauseId::IMBALANCE).is_none(), "{:#?}", answer.verdict);
        assert!(
            missing(&answer, CauseId::CONDITION_WAIT).contains("no goroutine that can run"),
            "{:#?}",
            answer.verdict
        );
    }
}

/// The lock that a goroutine waits for stays known, whichever goroutines have ended.
#[test]
fn what_is_known_to_be_waited_for_stays_so() {
    let goroutines = [Some(0xc000), Some(0xd000)];
    let answer =
        wanders_asleep(goroutines, WORK, None, (&parked(LOCK, TOUCH), &wakes(UNLOCK, "main.touch@app a.go:21")));
    assert_eq!(first(&answer), Some((CauseId::USER_LOCK, "main.touch")), "{:#?}", answer.verdict);
}
