//! A real cause is not called clear, however few samples there are of it and however disturbed the machine was.
//!
//! Each cause is planted with 5 to 50 % of the capacity in 1,000 recordings. As few as 1 % of the samples are kept, and
//! half of the timed blocks are disturbed by other programs. *Found* and *unsure* are both right; *clear* is not.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::memory::spins_at;
use crate::common::*;
use analyze::answer::CauseId;
use recording::synthetic::{RunSketch, Sketch, ms, us};
use recording::tables::*;
use recording::{RunId, Tables, ThreadId};

/// Recordings of each cause. In at most a hundredth of them the cause may be called clear.
const RECORDINGS: u32 = 1_000;

/// Useful work of a round, nanoseconds.
const ROUND: u64 = 10_000_000;
/// Rounds of a thread, at two threads.
const ROUNDS: u64 = 50;

const WORK: &str = "work@app app.c:5";
const OTHER: &str = "count@app app.c:7 < work@app app.c:9";
const LOCK: &str = "?@libc.so.6 < pthread_mutex_lock@libc.so.6 < update@app app.c:40 < work@app app.c:9";
const POOL: &str = "?@libc.so.6 < sem_wait@libc.so.6 < acquire@app pool.c:10 < work@app app.c:5";
const RELEASE: &str = "sem_post@libc.so.6 < release@app pool.c:20 < work@app app.c:7";
const SLEEP: &str = "?@libc.so.6 < usleep@libc.so.6 < wait_turn@app app.c:20 < work@app app.c:9";
const BARRIER: &str = "?@libc.so.6 < pthread_barrier_wait@libc.so.6 < work@app app.c:30";
const SERIAL: &str = "merge@app app.c:10 < work@app app.c:28";
const MALLOC: &str = "?@libc.so.6 < malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:41";
const MALLOC_WAIT: &str =
    "__lll_lock_wait_private@libc.so.6 < malloc@libc.so.6 < new_node@app app.c:25 < work@app app.c:41";
const UNMAP: &str = "munmap@libc.so.6 < unmap_chunk@app app.c:31 < work@app app.c:42";
const FILL: &str = "fill@app app.c:25 < work@app app.c:41";
const FAULT: &str = "clear_page@kernel < handle_mm_fault@kernel < exc_page_fault@kernel";
const CREATE: &str = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < work@app app.c:9";
const MAP: &str = "mmap@libc.so.6 < stack_map@app app.c:12 < work@app app.c:40";
const READ: &str = "?@libc.so.6 < fsync@libc.so.6 < save@app app.c:33 < work@app app.c:9";
const MMAP: u32 = 9;
const MUNMAP: u32 = 11;
const CLONE3: u32 = 435;
const LINE: u64 = 0x5000;

/// A small generator of numbers, the same at each run of the test (Steele et al. 2014, SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Nanoseconds lost in a round when `share` of the capacity is lost.
fn per_round(share: f64) -> u64 {
    (ROUND as f64 * share / (1.0 - share)) as u64
}

/// A sweep in which one thread needs a second, and two threads lose `share` of the capacity, idle or busy.
fn sweep(share: f64, busy: bool, two: impl FnOnce(&mut RunSketch<'_>)) -> Tables {
    let seconds = 0.5 / (1.0 - share);
    let cpu = if busy { 2.0 * seconds } else { 1.0 };
    with_base(
        Sketch::new(2).clean_cpu(1, &around(1.0), &around(1.0)).clean_cpu(2, &around(seconds), &around(cpu)),
        WORK,
    )
    .traced(2, two)
    .tables()
}

/// Two threads that lose the share round by round. The first closure gets the thread, its number, the nanoseconds to
/// lose and the other thread.
macro_rules! rounds {
    ($share:expr, $busy:expr, |$thread:ident, $number:ident, $lost:ident, $by:ident| $loses:expr, |$run:ident, $name:ident| $after:expr) => {{
        let $lost = per_round($share);
        sweep($share, $busy, |$run| {
            for ($number, $name, $by) in [(0_u64, "a", "b"), (1, "b", "a")] {
                let mut $thread = $run.thread($name);
                for _ in 0..ROUNDS {
                    $thread = $thread.runs(ROUND, WORK);
                    $thread = $loses;
                }
                $after;
                let _ = ($number, $by);
            }
        })
    }};
}

fn user_lock(share: f64) -> Tables {
    rounds!(share, false, |t, _n, lost, by| t.locks(0x100, lost, LOCK, by), |run, _name| {})
}

fn resource_pool(share: f64) -> Tables {
    rounds!(share, false, |t, _n, lost, by| t.locks(0x100, lost, POOL, by).woken_at(RELEASE), |run, _name| {})
}

fn condition_wait(share: f64) -> Tables {
    rounds!(share, false, |t, _n, lost, _by| t.blocks(Reason::Sleep, lost, SLEEP), |run, _name| {})
}

fn allocator(share: f64) -> Tables {
    rounds!(
        share,
        false,
        |t, _n, lost, by| t.runs(lost / 2, MALLOC).locks(0x7f00, lost - lost / 2, MALLOC_WAIT, by),
        |run, _name| {}
    )
}

fn kernel_lock(share: f64) -> Tables {
    rounds!(
        share,
        false,
        |t, _n, lost, _by| t.waits_for(Reason::KernelLock, "mmap_lock", Some(MUNMAP), lost, UNMAP),
        |run, name| {
            run.syscalls(name, MUNMAP, "munmap", 500);
            run.kernel_lock(name, "mmap_lock", Some(MUNMAP), UNMAP, 500, ROUNDS * per_round(share));
        }
    )
}

fn page_fault(share: f64) -> Tables {
    rounds!(share, true, |t, _n, lost, _by| t.runs_in_kernel_at(lost, None, FILL, FAULT), |run, name| run
        .fault_site(name, FILL, 100_000))
}

fn failing_syscall(share: f64) -> Tables {
    rounds!(share, true, |t, _n, lost, _by| t.runs_in_kernel(lost, MMAP, MAP), |run, name| {
        let calls = (ROUNDS * per_round(share) / us(10)).max(1);
        run.syscalls(name, MMAP, "mmap", calls);
        run.call_site(name, (MMAP, "mmap"), MAP, Some(12), calls, us(10));
    })
}

fn io_wait(share: f64) -> Tables {
    rounds!(share, false, |t, _n, lost, _by| t.blocks(Reason::Io, lost, READ), |run, _name| {})
}

fn extra_work(share: f64) -> Tables {
    rounds!(share, true, |t, _n, lost, _by| t.runs(lost, OTHER), |run, _name| {})
}

fn thread_creation(share: f64) -> Tables {
    let lost = per_round(share);
    sweep(share, true, |run| {
        for name in ["a", "b"] {
            let mut thread = run.thread(name);
            for _ in 0..ROUNDS {
                thread = thread.runs(ROUND, WORK).runs_in_kernel(lost, CLONE3, CREATE);
            }
        }
        for i in 0..2 * ROUNDS {
            run.thread_at(&format!("t{i}"), i * (ROUND + lost) / 2).runs(us(20), WORK).created_at(CREATE);
        }
        run.call_site("a", (CLONE3, "clone3"), CREATE, None, ROUNDS, lost);
    })
}

fn imbalance(share: f64) -> Tables {
    let whole = (0.5e9 / (1.0 - share)) as u64;
    sweep(share, false, |run| {
        main_joins(run, whole - ms(1));
        run.thread("a").runs(whole, WORK);
        run.thread("b").runs(ms(1000) - whole, WORK);
    })
}

fn serial_phase(share: f64) -> Tables {
    // While one thread runs alone, one of two processors is idle. What runs alone is part of the work.
    let alone = 2 * per_round(share);
    let beside = ROUND - alone / 2;
    let seconds = 0.5 / (1.0 - share);
    Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(seconds), &around(1.0))
        .traced(1, |run| {
            let mut thread = run.thread("a");
            for _ in 0..ROUNDS {
                thread = thread.runs(alone, SERIAL).runs(2 * beside, WORK);
            }
        })
        .traced(2, |run| {
            main_joins(run, ROUNDS * (alone + beside));
            for (first, name) in [(true, "a"), (false, "b")] {
                let mut thread = run.thread(name);
                for _ in 0..ROUNDS {
                    thread = match first {
                        true => thread.runs(alone, SERIAL),
                        false => thread.blocks(Reason::Futex, alone, BARRIER),
                    };
                    thread = thread.runs(beside, WORK);
                }
            }
        })
        .tables()
}

fn oversubscription(share: f64) -> Tables {
    let seconds = 0.5 / (1.0 - share);
    let slots = 48_u64;
    let length = (seconds * 1e9) as u64 / slots;
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(0.5), &around(1.0))
        .clean_cpu(4, &around(seconds), &around(1.0));
    with_base(sketch, WORK)
        .traced(2, |run| {
            run.thread("a").runs(ms(500), WORK);
            run.thread("b").runs(ms(500), WORK);
        })
        .traced(4, |run| {
            for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for slot in 0..slots {
                    // In the first slots one thread runs, in the rest two.
                    let pair = slot as f64 >= 2.0 * share * slots as f64;
                    let runs = slot % 4 == i as u64 || (pair && (slot + 1) % 4 == i as u64);
                    thread = if runs { thread.runs(length, WORK) } else { thread.preempted(length) };
                }
            }
        })
        .tables()
}

/// Code that takes longer beside another thread; `watched` adds what was observed meanwhile.
fn slower(share: f64, watched: impl FnOnce(&mut Tables, RunId, recording::FrameId, recording::StackId)) -> Tables {
    let lost = per_round(share);
    let seconds = 0.5 / (1.0 - share);
    let sketch = Sketch::new(2)
        .clean_cpu(1, &around(1.0), &around(1.0))
        .clean_cpu(2, &around(seconds), &around(2.0 * seconds))
        .traced(1, |run| {
            run.thread("main").runs(ms(500), WORK).runs(ms(500), OTHER);
        });
    let mut tables = sketch
        .traced(2, |run| {
            for name in ["a", "b"] {
                let mut thread = run.thread(name);
                for _ in 0..ROUNDS {
                    thread = thread.runs(ROUND / 2, WORK).runs(ROUND / 2 + lost, OTHER);
                }
            }
        })
        .tables();
    for what in ["kernel observation (eBPF)", "memory that threads share"] {
        tables.meta.capabilities.push(recording::meta::Capability {
            what: what.to_owned(),
            available: true,
            why: String::new(),
            costs: String::new(),
            unlock: None,
        });
    }
    let run = tables.runs.iter().find(|r| r.kind == RunKind::Traced && r.threads == 2).unwrap().run;
    let frame = tables.frames.iter().rfind(|f| f.function.as_deref() == Some("count")).unwrap().frame;
    let stack = tables.stacks.iter().find(|s| s.frame == frame).unwrap().stack;
    watched(&mut tables, run, frame, stack);
    tables
}

/// Both threads write to the line, `apart` bytes from each other.
fn sharing(share: f64, apart: u64) -> Tables {
    slower(share, |tables, run, frame, stack| {
        let at = |thread: ThreadId| LINE + apart * u64::from(thread.0);
        let samples = tables.samples.iter().filter(|s| s.run == run && s.user_stack == Some(stack));
        let access = |s: &Sample| Access {
            run,
            thread: s.thread,
            time_ns: s.time_ns,
            address: at(s.thread),
            width: 8,
            kind: AccessKind::Update,
            frame,
            distance: -1,
            certainty: AddressCertainty::Exact,
        };
        tables.accesses = samples.map(access).collect();
        confirm(tables, run, frame, apart);
    })
}

fn confirm(tables: &mut Tables, run: RunId, frame: recording::FrameId, apart: u64) {
    for thread in [ThreadId(0), ThreadId(1)] {
        tables.confirmations.push(Confirmation {
            run,
            thread,
            address: LINE + apart * u64::from(thread.0),
            width: 8,
            writes: true,
            frame: Some(frame),
            trials: 8,
            hit_trials: 8,
            shared_trials: 8,
            hits: 48,
            gap_ns: Some(9_000),
            across_ns: Some(2_000),
        });
    }
}

fn true_sharing(share: f64) -> Tables {
    sharing(share, 0)
}

fn false_sharing(share: f64) -> Tables {
    sharing(share, 8)
}

fn memory_bound(share: f64) -> Tables {
    slower(share, |_, _, _, _| {})
}

fn spin_wait(share: f64) -> Tables {
    slower(share, |tables, run, frame, stack| {
        spins_at(tables, run, frame, stack);
        confirm(tables, run, frame, 0);
    })
}

/// Keeps a share of the samples, and of the accesses seen with them.
fn thin(tables: &mut Tables, kept: f64, dice: &mut Dice) {
    tables.samples.retain(|_| dice.share() < kept);
    tables.accesses.retain(|_| dice.share() < kept);
}

/// Makes about half of the timed blocks run beside other programs, which makes them longer.
fn disturb(tables: &mut Tables, dice: &mut Dice) {
    let blocks: Vec<(u32, f64)> = (0..5).map(|block| (block, dice.share())).collect();
    for run in tables.runs.iter_mut().filter(|r| r.kind == RunKind::Clean) {
        let (_, drawn) = blocks.iter().find(|(block, _)| *block == run.block).unwrap();
        if *drawn < 0.5 {
            let longer = 1.0 + 0.6 * dice.share();
            let more = run.wall_ns as f64 * (longer - 1.0);
            run.wall_ns += more as u64;
            run.foreign_ns = Some((more * f64::from(run.threads.min(2))) as u64);
        } else {
            run.foreign_ns = Some(0);
        }
    }
}

/// In how many of [`RECORDINGS`] a real cause was called clear, in how many it was found, and an example of the former.
fn tried(id: CauseId, plant: fn(f64) -> Tables) -> (u32, u32, Option<String>) {
    let mut dice = Dice(0x6b6e_6565);
    let (mut acquitted, mut told, mut example) = (0, 0, None);
    for _ in 0..RECORDINGS {
        let share = 0.05 + 0.45 * dice.share();
        let kept = [1.0, 0.3, 0.1, 0.03, 0.01][(dice.next() % 5) as usize];
        let mut tables = plant(share);
        thin(&mut tables, kept, &mut dice);
        disturb(&mut tables, &mut dice);
        let answer = answer_for(&tables);
        told += u32::from(found(&answer, id).is_some());
        if answer.verdict.clear.contains(&id) {
            acquitted += 1;
            let power = answer.verdict.power.iter().find(|p| p.id == id);
            example =
                Some(format!("{share:.2} of the capacity, {kept} of the samples: {power:?} {:#?}", answer.account));
        }
    }
    (acquitted, told, example)
}

macro_rules! acquits_at_most_one_in_a_hundred {
    ($($name:ident: $id:ident,)*) => {$(
        mod $name {
            #[test]
            fn is_hardly_ever_acquitted() {
                let (acquitted, told, example) = super::tried(super::CauseId::$id, super::$name);
                println!("{}: {acquitted} acquitted, {told} found of {}", stringify!($name), super::RECORDINGS);
                assert!(acquitted * 100 <= super::RECORDINGS, "{acquitted} acquitted, {told} found: {example:?}");
            }
        }
    )*};
}

acquits_at_most_one_in_a_hundred! {
    user_lock: USER_LOCK,
    resource_pool: RESOURCE_POOL,
    condition_wait: CONDITION_WAIT,
    imbalance: IMBALANCE,
    serial_phase: SERIAL_PHASE,
    allocator: ALLOCATOR,
    kernel_lock: KERNEL_LOCK,
    page_fault: PAGE_FAULT,
    thread_creation: THREAD_CREATION,
    failing_syscall: FAILING_SYSCALL,
    io_wait: IO_WAIT,
    oversubscription: OVERSUBSCRIPTION,
    memory_bound: MEMORY_BOUND,
    extra_work: EXTRA_WORK,
    spin_wait: SPIN_WAIT,
    false_sharing: FALSE_SHARING,
    true_sharing: TRUE_SHARING,
}
