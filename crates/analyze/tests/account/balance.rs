//! The account balances for any timeline, sensible or hostile.

#![allow(clippy::unwrap_used, reason = "test code")]

use analyze::account::{self, pieces, timeline};
use analyze::curve::Clean;
use analyze::model::Model;
use analyze::model::futex;
use analyze::model::resources::{look, resources};

use crate::common::*;
use proptest::prelude::*;
use recording::synthetic::{RunSketch, Sketch, ms};
use recording::tables::*;
use recording::{FrameId, ModuleId, RunId, StackId, Tables, ThreadId, WaitId};

const REASONS: [Reason; 12] = [
    Reason::Pipe,
    Reason::Reclaim,
    Reason::Exit,
    Reason::None,
    Reason::Futex,
    Reason::Sleep,
    Reason::Io,
    Reason::Poll,
    Reason::Child,
    Reason::Fault,
    Reason::KernelLock,
    Reason::Other,
];
const STATES: [State; 5] = [State::Running, State::Runnable, State::Preempted, State::Blocked, State::Unknown];

/// A stretch of a thread: its length, and the parts of it spent in different states; a single part is a plain slice.
type Stretch = (u64, Vec<(usize, u64, u32)>);
/// When a thread starts, and its stretches.
type Plan = (u64, Vec<Stretch>);

fn stretch() -> impl Strategy<Value = Stretch> {
    let plain = (0..5_usize).prop_map(|s| vec![(s, u64::MAX, 1)]);
    let summed_up = prop::collection::vec((0..5_usize, 0..1000_u64, 0..50_u32), 1..6);
    (0..40_000_000_u64, prop_oneof![3 => plain, 1 => summed_up])
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec((0..50_000_000_u64, prop::collection::vec(stretch(), 0..12)), 1..8)
}

/// A traced run of these threads. `salt` picks waits, objects and wakers.
fn traced(tables: &mut Tables, threads: u32, processors: u32, plans: &[Plan], salt: u64) {
    let run = RunId(tables.runs.len() as u32);
    let mut row = Sketch::new(1).clean(threads, &[1.0]).tables().runs.remove(0);
    (row.run, row.kind) = (run, RunKind::Traced);
    let pick = |n: u64, of: usize| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) ^ salt) as usize % of;
    let mut end_ns = 1;
    for (id, (start, stretches)) in plans.iter().enumerate() {
        let thread = ThreadId(id as u32);
        let mut now = *start;
        for (i, (length, states)) in stretches.iter().enumerate() {
            let total: u64 = states.iter().map(|s| s.1.min(*length)).sum();
            for (state, part, count) in states {
                let wait = WaitId((id * 100 + i) as u32);
                let spent_ns = if states.len() == 1 { *length } else { part.min(length) * length / total.max(1) };
                let (start_ns, state) = (now, STATES[*state]);
                let wait = (state == State::Blocked).then_some(wait);
                let (end_ns, count) = (now + length, *count);
                tables.slices.push(Slice {
                    run,
                    thread,
                    start_ns,
                    end_ns,
                    state,
                    spent_ns,
                    count,
                    wait,
                    processor: None,
                });
            }
            tables.waits.push(Wait {
                run,
                wait: WaitId((id * 100 + i) as u32),
                thread,
                reason: REASONS[pick(i as u64 + id as u64, REASONS.len())],
                syscall: None,
                object: Some(pick(i as u64, 3) as u64),
                operation: None,
                what: None,
                expected: Some(pick(i as u64, 4) as u32),
                timed: pick(i as u64, 7) == 0,
                user_stack: None,
                kernel_stack: None,
                count: 1,
                blocked_ns: *length,
                runnable_ns: 0,
                longest_ns: *length,
            });
            tables.wakes.push(Wake {
                run,
                wait: WaitId((id * 100 + i) as u32),
                waker: Some(ThreadId(pick(i as u64 * 3, plans.len() + 1) as u32)),
                waker_stack: None,
                waker_syscall: None,
                same_object: pick(i as u64, 2) == 0,
                waker_waited_here: None,
                wakes_many: None,
                holder: None,
                count: 1,
                blocked_ns: *length,
            });
            now += length;
        }
        end_ns = end_ns.max(now);
        let mut thread_row =
            Sketch::new(1).traced(1, |r| drop_it(r.thread("t").runs(1, "a@app"))).tables().threads.remove(0);
        (thread_row.run, thread_row.thread, thread_row.start_ns, thread_row.end_ns) = (run, thread, *start, now);
        tables.threads.push(thread_row);
    }
    row.wall_ns = end_ns;
    tables.runs.push(row);
    // Every third sample without a stack, the rest in futex(2) or in another call.
    tables.samples.extend((0..9_u32).map(|i| Sample {
        run,
        thread: ThreadId(0),
        time_ns: 0,
        processor: 0,
        mode: if i % 3 == 0 { Mode::User } else { Mode::Kernel },
        syscall: (i % 3 > 0).then_some(200 + pick(u64::from(i), 4) as u32),
        user_stack: None,
        kernel_stack: None,
        goroutine: None,
    }));
    tables.traces.push(Trace {
        run,
        begin_ns: 0,
        end_ns,
        processors,
        sample_period_ns: ms(1),
        idle_ns: 0,
        foreign_ns: salt % 50_000_000,
        observer_ns: 0,
        listens: None,
        load_begin_ns: None,
        load_end_ns: None,
        load_ns: None,
    });
}

fn drop_it<T>(_: T) {}

fn assert_split(tables: &Tables) {
    let model = Model::new(tables);
    for traced in &model.traced {
        let futexes = futex::classify(traced, &model.stacks, model.numbers);
        let reasons = {
            let pools = resources(traced, &look(traced, &model.stacks, &futexes), &futexes, &model.places).pools;
            pieces::reasons(traced, &model.stacks, &futexes, &pools)
        };
        let split = timeline::split(traced, &reasons);
        let (capacity, idle) = split.imprecision();
        let bound = 1e-9 * split.capacity.max(split.on_cpu).max(1e-9);
        assert!(capacity.abs() < bound && idle.abs() < bound, "{capacity} {idle} {split:?}");
        assert!(split.charged.values().chain(split.shapes.values()).all(|s| *s >= 0.0), "{split:?}");
        assert!(split.by_wait.values().sum::<f64>() <= split.idle + bound, "{split:?}");
    }
}

/// Without clean runs the account is that of the traced run: the parts sum to the loss, and none is missing or doubled.
fn assert_nothing_forgotten(tables: &Tables) {
    let mut tables = tables.clone();
    tables.runs.retain(|r| r.kind == RunKind::Traced);
    let (model, clean) = (Model::new(&tables), Clean::new(&tables));
    for ledger in account::ledgers(&model, &clean) {
        let lines: f64 = ledger.account.lines.iter().map(|l| l.seconds).sum();
        let known: f64 = ledger.unexplained.iter().map(|u| u.1).sum();
        let bound = 1e-9 * (ledger.account.capacity + ledger.account.useful).max(1e-9);
        assert!((lines + known - ledger.loss).abs() < bound, "{lines} + {known} is not {}: {ledger:?}", ledger.loss);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_timeline_balances(
        base in plans(), plans in plans(), counts in (1..4_u32, 1..12_u32), processors in 1..6_u32, salt in any::<u64>(),
        clean in prop::collection::vec(0.01..9.0_f64, 1..4),
    ) {
        let mut tables = Sketch::new(processors).clean(counts.0, &clean).clean(counts.0 + counts.1, &clean).tables();
        traced(&mut tables, counts.0, processors, &base, salt);
        traced(&mut tables, counts.0 + counts.1, processors, &plans, salt);
        assert_split(&tables);
        assert_nothing_forgotten(&tables);
        let answer = answer_for(&tables);
        assert_eq!(answer.account.len(), 2);
        assert_balanced(&answer);
        assert_sane(&answer);
    }
}

/// A hostile number: small, huge, or anything.
fn wild() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX / 2), 0..100_u64, any::<u64>()]
}

/// Damages a recording: each row gets some hostile fields.
fn damage(tables: &mut Tables, wild: &[u64]) {
    let mut next = wild.iter().copied().cycle();
    let mut draw = move || next.next().unwrap_or(7);
    for run in &mut tables.runs {
        (run.wall_ns, run.user_ns, run.system_ns) = (draw(), draw(), draw());
        run.throughput =
            [None, Some(f64::NAN), Some(f64::INFINITY), Some(-1.0), Some(1e-308), Some(5.0)][draw() as usize % 6];
        (run.threads, run.foreign_ns, run.throttled_ns) = (draw() as u32, Some(draw()), Some(draw()));
        (run.instructions, run.cache_misses, run.major_faults) = (Some(draw()), Some(draw()), draw());
    }
    for trace in &mut tables.traces {
        (trace.begin_ns, trace.end_ns, trace.processors, trace.foreign_ns) = (draw(), draw(), draw() as u32, draw());
    }
    for thread in &mut tables.threads {
        (thread.start_ns, thread.end_ns, thread.parent) = (draw(), draw(), Some(ThreadId(draw() as u32)));
        (thread.voluntary_switches, thread.involuntary_switches) = (draw(), draw());
    }
    tables.slices.change(|slice| {
        (slice.start_ns, slice.end_ns, slice.spent_ns, slice.count) = (draw(), draw(), draw(), draw() as u32);
        (slice.thread, slice.wait) = (ThreadId(draw() as u32 % 9), Some(WaitId(draw() as u32 % 9)));
    });
    for wait in &mut tables.waits {
        (wait.blocked_ns, wait.count, wait.longest_ns) = (draw(), draw(), draw());
        (wait.object, wait.user_stack) = (Some(draw()), Some(StackId(draw() as u32 % 9)));
        wait.thread = ThreadId(draw() as u32);
    }
    for wake in &mut tables.wakes {
        (wake.blocked_ns, wake.waker, wake.wait) = (draw(), Some(ThreadId(draw() as u32)), WaitId(draw() as u32 % 9));
    }
    for stack in &mut tables.stacks {
        (stack.parent, stack.frame) = (Some(StackId(draw() as u32 % 9)), FrameId(draw() as u32 % 12));
    }
    for frame in &mut tables.frames {
        (frame.module, frame.depth) = (ModuleId(draw() as u32 % 5), draw() as u32);
    }
    for sample in &mut tables.samples {
        (sample.thread, sample.user_stack) = (ThreadId(draw() as u32), Some(StackId(draw() as u32 % 9)));
    }
    for site in &mut tables.call_sites {
        (site.timed, site.on_cpu_ns, site.total_ns, site.error) = (draw(), draw(), draw(), Some(draw() as u32 % 40));
        site.calls = [f64::NAN, f64::INFINITY, -1.0, 1e300, 7.0][draw() as usize % 5];
        (site.number, site.user_stack) = (draw() as u32 % 12, Some(StackId(draw() as u32 % 9)));
    }
    for lock in &mut tables.kernel_locks {
        (lock.waited_ns, lock.blocked_ns, lock.count) = (draw(), draw(), draw());
        (lock.longest_ns, lock.user_stack) = (draw(), Some(StackId(draw() as u32 % 9)));
    }
    for site in &mut tables.fault_sites {
        (site.sampled, site.period, site.user_stack) = (draw(), draw(), Some(StackId(draw() as u32 % 9)));
    }
    for syscall in &mut tables.syscalls {
        (syscall.count, syscall.number) = (draw(), draw() as u32 % 300);
    }
    tables.meta.machine.usable_processors = draw() as u32;
}

/// A run with something for each kind of line.
fn everything(run: &mut RunSketch<'_>) {
    let (malloc, create) =
        ("?@libc.so.6 < malloc@libc.so.6 < node@app a.c:1", "pthread_create@libc.so.6 < main@app a.c:2");
    let barrier = "pthread_barrier_wait@libc.so.6 < work@app a.c:3";
    let (fault, lock) = ("exc_page_fault@kernel", "osq_lock@kernel < down_write@kernel");
    run.thread("c").runs(ms(3), malloc).locks(2, ms(3), malloc, "d").runs_in_kernel(ms(3), 9, malloc);
    run.thread("d").runs_in_kernel(ms(3), 56, create).runs_in_kernel_at(ms(3), None, "work@app a.c:4", fault);
    run.thread("e").blocks(Reason::Futex, ms(3), barrier).runs_in_kernel_at(ms(3), Some(11), "work@app a.c:5", lock);
    run.thread("f").waits_for(Reason::Io, "/x", Some(0), ms(3), "work@app a.c:6").runs(ms(9), "last@app a.c:7");
    run.thread("g").waits_for(Reason::KernelLock, "mmap_lock", Some(11), ms(3), "work@app a.c:8").runs_in_kernel(
        ms(2),
        9,
        "m@app",
    );
    run.call_site("g", (9, "mmap"), "m@app", Some(12), 70, 1000);
    run.call_site("g", (9, "mmap"), "m@app", None, 70, 1000);
    run.kernel_lock("g", "mmap_lock", Some(11), "work@app a.c:8", 7, ms(3));
    run.fault_site("d", "work@app a.c:4", 9);
    (run.row().throttled_ns, run.row().throttled_periods) = (Some(ms(1)), Some(2));
}

fn small() -> Tables {
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean(2, &around(0.9))
        .traced(1, |run| drop_it(run.thread("a").runs(ms(20), RANDOM.work)))
        .traced(2, |run| {
            run.thread("a").runs(ms(5), RANDOM.work).locks(1, ms(5), RANDOM.wait, "b").runnable(ms(1));
            run.thread("b").locks(1, ms(5), RANDOM.wait, "a").runs(ms(5), RANDOM.owner).preempted(ms(3));
            run.syscalls("a", 202, "futex", 5);
            everything(run);
        })
        .tables()
}

/// No number of an answer is NaN or infinite: JSON has neither.
fn assert_sane(answer: &analyze::answer::Answer) {
    let json = serde_json::to_value(answer).unwrap();
    for account in json["account"].as_array().unwrap() {
        for name in ["capacity", "useful", "unexplained", "traced_over_clean"] {
            assert!(account[name].is_number(), "{name} of {account}");
        }
    }
    assert!(!answer.verdict.causes.is_empty());
    for count in answer.account.iter().map(|a| a.threads) {
        let shares: f64 = answer.verdict.causes.iter().filter(|c| c.threads == count).map(|c| c.share).sum();
        assert!(shares <= 1.0 + 1e-9, "{:?}", answer.verdict.causes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_tables_get_an_answer(wild in prop::collection::vec(wild(), 1..200), keep_counts in any::<bool>()) {
        let mut tables = small();
        damage(&mut tables, &wild);
        if keep_counts {
            // Valid enough to reach the account.
            for (run, sound) in tables.runs.iter_mut().zip(small().runs) {
                run.threads = sound.threads;
            }
            tables.traces = small().traces;
        }
        assert_sane(&answer_for(&tables));
    }
}

/// Three samples each are too few to show growth, and six are enough.
#[test]
fn two_numbers_with_one_name_are_one_system_call() {
    let tables = Sketch::new(2)
        .clean(1, &around(1.0))
        .clean(2, &around(0.9))
        .traced(1, |run| drop_it(run.thread("a").runs(ms(20), RANDOM.work)))
        .traced(2, |run| {
            let thread = run.thread("a").runs(ms(10), RANDOM.work).runs_in_kernel(ms(3), 9, "m@app");
            drop_it(thread.runs_in_kernel(ms(3), 77, "m@app"));
            run.call_site("a", (9, "mmap"), "m@app", None, 70, 1000);
            run.call_site("a", (77, "mmap"), "m@app", None, 70, 1000);
        })
        .tables();
    let growth = answer_for(&tables).growth;
    assert_eq!(growth.iter().filter(|row| row.name.ends_with("mmap")).count(), 1, "{growth:#?}");
}

#[test]
fn every_kind_of_line_balances() {
    let tables = Sketch::new(16)
        .traced(1, |run| drop_it(run.thread("a").runs(ms(5), "a@app")))
        .traced(16, |run| {
            everything(run);
            run.thread("h").preempted(ms(2));
        })
        .tables();
    assert_split(&tables);
    assert_nothing_forgotten(&tables);
    let answer = answer_for(&tables);
    assert_balanced(&answer);
    let lines: Vec<&str> = answer.account[1].lines.iter().map(|l| l.what.as_str()).collect();
    for what in [
        "the allocator's code",
        "waiting in the allocator",
        "creating and ending threads",
        "page faults in the kernel",
        "getting kernel locks",
        "waiting for kernel locks",
        "waiting for files or devices",
        "system calls mmap that fail",
        "held back by the CPU quota",
    ] {
        assert!(lines.contains(&what), "{what} is not among {lines:#?}");
    }
}

#[test]
fn empty_tables_get_an_answer() {
    let answer = answer_for(&Sketch::new(0).tables());
    assert!(answer.curve.is_empty() && answer.account.is_empty());
    assert_sane(&answer);
}
