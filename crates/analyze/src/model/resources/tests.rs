//! Sketches of limited resources and near misses.

use super::*;
use crate::model::Model;
use crate::model::futex::classify;
use recording::synthetic::{FUTEX, Sketch, ms, us};
use recording::tables::{Reason, Stack, Wake};
use recording::{StackId, Tables};
use std::collections::VecDeque;

const CONDITION: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
const SEMAPHORE: &str = "?@libc.so.6 < sem_wait@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
const RELEASE: &str = "?@libc.so.6 < release@app pool.c:20 < work@app app.c:7";
const QUERY: &str = "?@libc.so.6 < usleep@libc.so.6 < query@app db.c:3 < work@app app.c:6";

/// What a thread of a simulated program does, and for how many nanoseconds.
#[derive(Debug, Clone)]
enum Did {
    Works(u64),
    Waits(u64, String),
    Holds(u64),
}

/// Threads that each take one of `things` things. Times, in nanoseconds, differ a little by thread and round.
#[derive(Debug, Clone, Copy)]
struct Shop {
    threads: usize,
    things: usize,
    rounds: usize,
    work: u64,
    hold: u64,
    /// First come, first served; otherwise any thread may be next.
    fair: bool,
}

impl Shop {
    fn run(self) -> Vec<Vec<Did>> {
        let mut did: Vec<Vec<Did>> = vec![Vec::new(); self.threads];
        // When each thread comes for one, the thread, and its round.
        let late = |thread: usize, round: usize| us(((thread * 7 + round * 13) % 11) as u64 * 150);
        let mut coming: Vec<(u64, usize, usize)> = (0..self.threads).map(|t| (self.work + late(t, 0), t, 0)).collect();
        coming.iter().for_each(|(at, t, _)| did[*t].push(Did::Works(*at)));
        let mut holding: Vec<(u64, usize, usize)> = Vec::new();
        let mut queue: VecDeque<(u64, usize, usize)> = VecDeque::new();
        while !coming.is_empty() || !holding.is_empty() {
            let next = coming.iter().min().copied();
            let done = holding.iter().min().copied();
            if let Some((at, thread, round)) = next.filter(|n| done.is_none_or(|d| n.0 < d.0)) {
                coming.retain(|c| *c != (at, thread, round));
                match holding.len() < self.things {
                    true => {
                        let until = at + self.hold + late(thread, round + 5);
                        did[thread].push(Did::Holds(until - at));
                        holding.push((until, thread, round));
                    }
                    false => queue.push_back((at, thread, round)),
                }
            } else if let Some((at, thread, round)) = done {
                holding.retain(|h| *h != (at, thread, round));
                let next = if self.fair { 0 } else { (thread * 3 + round * 5) % queue.len().max(1) };
                if let Some((since, waiter, its)) = queue.remove(next) {
                    did[waiter].push(Did::Waits(at - since, format!("t{thread}")));
                    let until = at + self.hold + late(waiter, its + 5);
                    did[waiter].push(Did::Holds(until - at));
                    holding.push((until, waiter, its));
                }
                // It runs on a processor to give it back.
                let back = self.work + late(thread, round + 1);
                did[thread].push(Did::Works(back));
                if round + 1 < self.rounds {
                    coming.push((at + back, thread, round + 1));
                }
            }
        }
        did
    }

    fn tables(self, wait: &str, object: impl Fn(usize) -> u64, hold: &str) -> Tables {
        let did = self.run();
        Sketch::new(2)
            .traced(self.threads as u32, |run| {
                for (at, did) in did.iter().enumerate() {
                    did.iter().fold(run.thread(&format!("t{at}")), |thread, did| match did {
                        Did::Works(ns) => thread.runs(*ns, "work@app app.c:5"),
                        Did::Waits(ns, by) => thread.locks(object(at), *ns, wait, by).woken_at(RELEASE),
                        // Whoever holds one sleeps, and runs for a moment to give it back.
                        Did::Holds(ns) => {
                            thread.blocks(Reason::Sleep, ns - us(30), hold).runs(us(30), "work@app app.c:7")
                        }
                    });
                }
            })
            .tables()
    }
}

const SHOP: Shop = Shop { threads: 8, things: 2, rounds: 20, work: 100_000, hold: 4_000_000, fair: true };

/// What is found: the size of each pool, and the number of doubts.
fn found(tables: &Tables) -> (Vec<Option<usize>>, usize) {
    let model = Model::new(tables);
    let run = &model.traced[0];
    let futexes = classify(run, &model.stacks, model.numbers);
    let found = resources(run, &look(run, &model.stacks, &futexes), &futexes, &Places::default());
    (found.pools.iter().map(|p| p.size).collect(), found.doubts.len())
}

#[test]
fn the_number_of_things_is_the_one_that_is_held_at_once() {
    for things in [1, 2, 3, 5] {
        let shop = Shop { things, ..SHOP };
        assert_eq!(found(&shop.tables(CONDITION, |_| 0x100, QUERY)), (vec![Some(things)], 0), "condition, {things}");
        assert_eq!(found(&shop.tables(SEMAPHORE, |_| 0x100, QUERY)), (vec![Some(things)], 0), "semaphore, {things}");
    }
}

#[test]
fn who_queues_at_a_futex_of_its_own_waits_for_the_same() {
    assert_eq!(found(&SHOP.tables(CONDITION, |t| 0x1000 * (1 + t as u64), QUERY)), (vec![Some(2)], 0));
}

/// A pool of a Java library. Of every other thread the stacks break off inside the library.
#[test]
fn a_stack_that_breaks_off_in_a_pool_belongs_to_its_caller() {
    let park = "?@libjvm.so < java.util.concurrent.SynchronousQueue.poll@anonymous < com.zaxxer.Pool.get@anonymous";
    let whole = format!("{park} < com.acme.Desk.serve@anonymous Desk.java:5 < com.acme.Desk.main@anonymous");
    let mut tables = SHOP.tables(&whole, |t| 0x1000 * (1 + t as u64), QUERY);
    let of_wait = tables.waits.iter().find(|w| w.reason == Reason::Futex).and_then(|w| w.user_stack).unwrap();
    let mut frames = Vec::new();
    let mut next = Some(of_wait);
    while let Some(row) = next.and_then(|id| tables.stacks.iter().find(|row| row.stack == id)) {
        frames.push(row.frame);
        next = row.parent;
    }
    let mut parent = None;
    for frame in frames.into_iter().take(3).rev() {
        let stack = StackId(tables.stacks.len() as u32);
        tables.stacks.push(Stack { stack, parent, frame, truncated: parent.is_none() });
        parent = Some(stack);
    }
    for wait in tables.waits.iter_mut().filter(|w| w.user_stack == Some(of_wait) && w.thread.0 % 2 == 1) {
        wait.user_stack = parent;
    }
    assert_eq!(found(&tables), (vec![Some(2)], 0));
    let model = Model::new(&tables);
    let place = resources(&model.traced[0], &model.sites[0], &model.futexes[0], &Places::default()).pools[0].place;
    assert_eq!(place.name(), Some("com.acme.Desk.serve"));
}

/// One thread takes again what it has just given back, so that those which it wakes find nothing, until it has done all
/// of its share; then the next one does. `released`: where it gives one back; `other`: what those do that wait; `takes`:
/// where the greedy one is seen for half of its time.
fn greedy(released: &str, other: &str, takes: &str) -> Tables {
    let pack = "compress@app pool.c:12 < pack@app pool.c:11 < work@app app.c:5";
    Sketch::new(2)
        .traced(3, |run| {
            for at in 0..3 {
                // They come one after the other, and are woken one by one.
                let mut thread = run.thread_at(&format!("t{at}"), us(700 * at));
                for turn in 0..3 {
                    for _ in 0..20 {
                        thread = match turn {
                            _ if turn > at => break,
                            _ if turn == at && at == 0 => thread.runs(ms(1), pack).runs(ms(1), takes),
                            _ if turn == at => thread.runs(ms(1), other).runs(ms(1), takes),
                            _ => thread
                                .locks(0x1000 * (1 + at), ms(2) - us(20), TAKE, &format!("t{turn}"))
                                .woken_at(released)
                                .runs(us(20), TAKE),
                        };
                    }
                }
            }
        })
        .tables()
}

const TAKE: &str = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < pack@app pool.c:10 < work@app app.c:5";

#[test]
fn who_is_quicker_than_those_that_it_wakes_holds_the_only_one() {
    let pack = "compress@app pool.c:12 < pack@app pool.c:11 < work@app app.c:5";
    let released = "?@libc.so.6 < pthread_cond_signal@libc.so.6 < pack@app pool.c:14 < work@app app.c:5";
    assert_eq!(found(&greedy(released, pack, pack)), (vec![Some(1)], 0));
    // Near misses: a stage that hands on from another function, and one whose receivers do other work.
    let hands_on = "?@libc.so.6 < pthread_cond_signal@libc.so.6 < put@app queue.c:14 < work@app app.c:5";
    assert_eq!(found(&greedy(hands_on, pack, pack)), (vec![], 0));
    let writes = "write_out@app out.c:3 < save@app out.c:9 < finish@app app.c:9";
    assert_eq!(found(&greedy(released, writes, writes)), (vec![], 0));
    // Who gives back in another function is seen to take one there.
    assert_eq!(found(&greedy(hands_on, pack, TAKE)), (vec![Some(1)], 0));
}

#[test]
fn a_pool_that_is_large_enough_is_none() {
    let shop = Shop { things: 8, ..SHOP };
    assert_eq!(found(&shop.tables(CONDITION, |_| 0x100, QUERY)), (vec![], 0));
}

#[test]
fn a_plain_lock_is_no_pool() {
    let shop = Shop { things: 1, ..SHOP };
    let named = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < work@app app.c:5";
    assert_eq!(found(&shop.tables(named, |_| 0x100, QUERY)), (vec![], 0));
    let nameless = "?@libc.so.6 < ?@libc.so.6 < work@app app.c:5";
    assert_eq!(found(&shop.tables(nameless, |_| 0x100, QUERY)), (vec![], 0));
}

/// Four threads take turns, one after the other, and read what another thread writes into a pipe. Of ten milliseconds, the one
/// whose turn it is waits for `waiting`. `asked`: the writer waits until they ask.
fn takes_turns_reading(waiting: u64, asked: bool) -> Tables {
    let take = SEMAPHORE.replace("acquire", "get");
    let read = "read@libc.so.6 < get@app pool.c:12 < work@app app.c:5";
    Sketch::new(2)
        .traced(4, |run| {
            let feeder = run.thread("feeder").runs(ms(2), "feed@app app.c:30");
            (0..80).fold(feeder, |feeder, item| match asked {
                true => feeder
                    .handed(
                        Reason::Pipe,
                        ms(2),
                        "read@libc.so.6 < serve@app app.c:31",
                        &format!("t{}", item % 4),
                        WRITE,
                    )
                    .runs(ms(8), "feed@app app.c:30"),
                false => feeder.runs(ms(10), "feed@app app.c:30"),
            });
            for at in 0..4_u64 {
                let first = run.thread(&format!("t{at}"));
                let first = first.runs(ms(1), "work@app app.c:5").runs(ms(5 * at), "work@app app.c:5");
                (0..20)
                    .fold(first, |thread, round: u64| {
                        // The one before gives its turn back, for the first time soon.
                        let others = if round == 0 { 5 * at } else { 30 };
                        let thread = match others {
                            0 => thread,
                            ns => thread.locks(0x100, ms(ns), &take, &format!("t{}", (at + 3) % 4)).woken_at(RELEASE),
                        };
                        let thread = thread.handed(Reason::Pipe, ms(waiting), read, "feeder", WRITE);
                        thread.runs(ms(10 - waiting), "work@app app.c:7")
                    })
                    .runs(ms(1), "work@app app.c:7");
            }
        })
        .tables()
}

/// The number of write(2) on x86-64 and in the sketches.
const WRITE: u32 = 1;

/// How many waits are found to be for a turn at a queue.
fn turns(tables: &Tables) -> usize {
    let model = Model::new(tables);
    resources(&model.traced[0], &model.sites[0], &model.futexes[0], &model.places).turns.len()
}

#[test]
fn turns_at_a_queue_that_is_empty_are_waits_for_its_items() {
    assert_eq!(turns(&takes_turns_reading(9, false)), 4);
    // Near misses: the turn is mostly kept for work; and who has it asks, and waits for the answer.
    assert_eq!(turns(&takes_turns_reading(2, false)), 0);
    assert_eq!(turns(&takes_turns_reading(9, true)), 0);
}

/// Tokens that threads read from a pipe and write back into it are no items of a queue.
#[test]
fn tokens_in_a_pipe_are_a_pool() {
    let take = "read@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
    let mut tables = Shop { things: 1, ..SHOP }.tables(take, |_| 0x100, QUERY);
    for wait in tables.waits.iter_mut().filter(|wait| wait.reason == Reason::Futex) {
        (wait.reason, wait.object) = (Reason::Pipe, None);
    }
    tables.wakes.iter_mut().for_each(|wake| wake.waker_syscall = Some(WRITE));
    assert_eq!((found(&tables), turns(&tables)), ((vec![Some(1)], 0), 0));
}

/// More threads overtake each other, so that two seem to have their turn at once. Another count then decides.
#[test]
fn a_queue_that_one_count_shows_is_one_at_all_counts() {
    let read = "read@libc.so.6 < acquire@app pool.c:12 < work@app app.c:5";
    let mut tables = SHOP.tables(SEMAPHORE, |_| 0x100, read);
    for wait in tables.waits.iter_mut().filter(|wait| wait.reason == Reason::Sleep) {
        wait.reason = Reason::Pipe;
        let of_wait = tables.wakes[0].clone();
        tables.wakes.push(Wake {
            wait: wait.wait,
            waker_syscall: Some(WRITE),
            blocked_ns: wait.blocked_ns,
            count: wait.count,
            ..of_wait
        });
    }
    let model = Model::new(&tables);
    let (run, sites, futexes) = (&model.traced[0], &model.sites[0], &model.futexes[0]);
    let found = |known: &Places<'_>| {
        let found = resources(run, sites, futexes, known);
        (found.turns.len(), found.pools.len())
    };
    // Alone, it is a pool of two whose holders wait.
    let mut known = Places::default();
    assert_eq!(found(&known), (0, 1));
    known.turns.insert(function(&sites.0[0].at.place));
    assert_eq!(found(&known), (8, 0));
}

/// How many waits are found to be for a lock.
fn locks(tables: &Tables, known: bool) -> usize {
    let model = Model::new(tables);
    let run = &model.traced[0];
    let futexes = classify(run, &model.stacks, model.numbers);
    let sites = look(run, &model.stacks, &futexes);
    let places = if known { &model.places } else { &Places::default() };
    resources(run, &sites, &futexes, places).locks.len()
}

#[test]
fn a_lock_with_a_futex_for_each_waiter_is_told_by_its_place() {
    let nameless = "?@libc.so.6 < ?@libc.so.6 < work@app app.c:5";
    let own = |t: usize| 0x1000 * (1 + t as u64);
    let shop = Shop { things: 1, fair: false, ..SHOP };
    assert!(locks(&shop.tables(nameless, own, QUERY), false) > 0);
    assert_eq!(found(&shop.tables(nameless, own, QUERY)), (vec![], 0));
    // Near misses: threads that take turns, and two threads, which cannot be told from that.
    assert_eq!(locks(&handed_on(4, nameless, |t| 0x1000 * (t + 1), |t| (t + 3) % 4), false), 0);
    let two = Shop { threads: 2, ..shop }.tables(nameless, own, QUERY);
    assert_eq!(locks(&two, true), 0);
}

#[test]
fn what_is_put_back_into_a_queue_is_no_turn() {
    let queue = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < Queue.get@anonymous /usr/lib/python3.11/queue.py:171";
    let pool = format!("{queue} < fetch@anonymous fetch.py:9");
    let turns = |wait: &str| found(&handed_on(4, wait, |t| 0x1000 * (t + 1), |t| (t + 3) % 4));
    assert_eq!(turns(&pool), (vec![Some(1)], 0));
    assert_eq!(turns(&pool.replace("Queue.get", "Turnstile.get")), (vec![], 1));
}

#[test]
fn two_threads_may_as_well_take_turns() {
    let shop = Shop { threads: 2, things: 1, ..SHOP };
    assert_eq!(found(&shop.tables(CONDITION, |_| 0x100, QUERY)), (vec![], 1));
    assert_eq!(found(&shop.tables(SEMAPHORE, |_| 0x100, QUERY)), (vec![Some(1)], 0));
}

/// Threads that each wait again and again for one other thread, which `waker` gives.
fn handed_on(threads: u64, wait: &str, object: impl Fn(u64) -> u64, waker: impl Fn(u64) -> u64) -> Tables {
    Sketch::new(2)
        .traced(threads as u32, |run| {
            for at in 0..threads {
                let by = format!("t{}", waker(at));
                let thread = run.thread(&format!("t{at}")).runs(ms(1) * (at + 1), "work@app app.c:5");
                (0..20).fold(thread, |thread, _| {
                    thread.locks(object(at), ms(threads - 1), wait, &by).runs(ms(1), "work@app app.c:5")
                });
            }
        })
        .tables()
}

#[test]
fn a_queue_is_filled_by_others() {
    let tables = Sketch::new(2)
        .traced(4, |run| {
            run.thread("producer").runs(ms(400), "make@app app.c:3");
            for at in 0..3 {
                let thread = run.thread(&format!("t{at}")).runs(ms(1), "work@app app.c:5");
                (0..30)
                    .fold(thread, |t, _| t.locks(0x100, ms(3), CONDITION, "producer").runs(ms(2), "work@app app.c:5"));
            }
        })
        .tables();
    assert_eq!(found(&tables), (vec![], 0));
}

#[test]
fn stages_hand_on_in_one_direction() {
    // Each stage waits in the same function for the one before it.
    let tables = handed_on(6, CONDITION, |t| 0x1000 * (t + 1), |t| t.saturating_sub(1));
    assert_eq!(found(&tables), (vec![], 0));
}

#[test]
fn threads_that_take_turns_stay_open() {
    let tables = handed_on(4, CONDITION, |t| 0x1000 * (t + 1), |t| (t + 3) % 4);
    let (pools, doubts) = found(&tables);
    assert_eq!((pools, doubts), (vec![], 1));
}

#[test]
fn who_is_woken_with_all_others_waits_at_a_barrier_or_for_its_turn() {
    let all = |many: bool| {
        let shop = Shop { things: 1, ..SHOP };
        let mut tables = shop.tables(CONDITION, |_| 0x100, QUERY);
        tables.wakes.iter_mut().for_each(|w| w.wakes_many = Some(many));
        found(&tables)
    };
    assert_eq!((all(true), all(false)), ((vec![], 0), (vec![Some(1)], 0)));
}

#[test]
fn a_pipe_of_tokens_is_a_pool() {
    let mut tables = SHOP.tables("read@libc.so.6 < take@app pool.c:9 < work@app app.c:5", |_| 3, QUERY);
    for wait in tables.waits.iter_mut().filter(|w| w.reason == Reason::Futex) {
        (wait.reason, wait.syscall, wait.operation, wait.expected) = (Reason::Pipe, Some(0), None, None);
    }
    tables.wakes.iter_mut().filter(|w| w.waker_syscall == Some(FUTEX)).for_each(|w| w.waker_syscall = Some(1));
    assert_eq!(found(&tables), (vec![Some(2)], 0));
}

#[test]
fn workers_that_have_no_task_are_no_pool() {
    let idle = "?@libc.so.6 < pthread_cond_wait@libc.so.6 < rayon_core::sleep::Sleep::sleep@app < work@app app.c:5";
    assert_eq!(found(&SHOP.tables(idle, |_| 0x100, QUERY)), (vec![], 0));
}

#[test]
fn an_interpreter_hides_the_place() {
    let inside = "?@libc.so.6 < sem_clockwait@libc.so.6 < PyThread_acquire_lock_timed@python3.11";
    let mut tables = SHOP.tables(inside, |t| 0x1000 * (1 + t as u64), QUERY);
    tables
        .modules
        .iter_mut()
        .filter(|m| m.path.contains("python"))
        .for_each(|m| m.path = "/usr/bin/python3.11".to_owned());
    assert_eq!(found(&tables), (vec![], 1));
}

#[test]
fn who_asks_and_who_answers_in_one_function_share_nothing() {
    let wait =
        |from: &str| format!("?@libc.so.6 < pthread_cond_wait@libc.so.6 < exchange@app io.c:10 < {from}@app app.c:5");
    // Threads of one kind, each of which may wake any other: a pool.
    assert_eq!(found(&SHOP.tables(&wait("ask"), |t| 0x1000 * (1 + t as u64), QUERY)).0, [Some(2)]);
    // Two that ask and two that answer: each wakes one of the other kind.
    let pairs = Sketch::new(2)
        .traced(4, |run| {
            for (at, kind) in [(0, "ask"), (1, "answer"), (2, "ask"), (3, "answer")] {
                let thread = run.thread(&format!("t{at}")).runs(ms(1) * (at + 1), "work@app app.c:5");
                (0..20)
                    .fold(thread, |thread, round| {
                        // Either answerer may answer, so no thread always wakes the same one.
                        let by = (at + 1 + 2 * (round % 2)) % 4;
                        thread
                            .locks(0x1000 * (at + 1), ms(3), &wait(kind), &format!("t{by}"))
                            .runs(ms(1), "work@app app.c:5")
                    })
                    .runs(ms(1), "work@app app.c:5");
            }
        })
        .tables();
    assert_eq!(found(&pairs), (vec![], 0));
}
