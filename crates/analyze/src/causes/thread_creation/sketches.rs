//! Threads that are created.

use crate::answer::CauseId;
use crate::common::no_faster::*;
use crate::common::*;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms, us};

const CLONE3: u32 = 435;

/// The main thread creates a thread for each task; tasks are short.
fn creating(threads: u32) -> Tables {
    let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
    flat()
        .traced(2, |run| {
            run.thread("main").runs_in_kernel(ms(1000), CLONE3, create);
            for i in 0..threads {
                let start = ms(u64::from(i) * 1000 / u64::from(threads));
                run.thread_at(&format!("t{i}"), start).runs(ms(2), WORK).created_at(create);
            }
            run.call_site("main", (CLONE3, "clone3"), create, None, u64::from(threads), us(50));
        })
        .tables()
}

mod positive {
    use super::*;

    #[test]
    fn creating_a_thread_for_each_task_is_named_by_the_line_that_creates() {
        let answer = answer_for(&creating(200));
        assert_balanced(&answer);
        assert_eq!(answer.verdict.causes[0].id, CauseId::THREAD_CREATION, "{:#?}", answer.verdict);
        let cause = &answer.verdict.causes[0];
        assert!(cause.summary.contains("200 threads in spawn_all (app.c:60)"), "{}", cause.summary);
    }

    /// A thread for each task, created one after the other: it costs as much with one task at a time as with two.
    #[test]
    fn creating_threads_is_loss_at_the_smallest_count_too() {
        let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
        let tasks = |run: &mut RunSketch<'_>, first: u64, apart: u64| {
            run.thread("main").runs_in_kernel(ms(600), CLONE3, create);
            for i in 0..200 {
                run.thread_at(&format!("t{i}"), ms(first + i * apart)).runs(ms(2), WORK).created_at(create);
            }
        };
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean_cpu(2, &around(0.6), &around(1.0))
            .traced(1, |run| tasks(run, 600, 2))
            .traced(2, |run| tasks(run, 1, 3))
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        let cause = &answer.verdict.causes[0];
        assert_eq!(cause.id, CauseId::THREAD_CREATION, "{:#?}", answer.verdict);
        // 0.6 s of it on a processor, and 0.2 s in which the other processor had no task.
        assert!((cause.lost_seconds - 0.8).abs() < 0.1, "{cause:#?}");
        assert!((answer.account[0].useful - 0.4).abs() < 0.1, "{:#?}", answer.account[0]);
    }
}

mod near_miss {
    use super::*;

    /// A fifth of the time goes into creating threads at each count, and two threads take half as long.
    #[test]
    fn creating_threads_is_no_loss_of_a_program_that_scales() {
        let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
        let tables = Sketch::new(2)
            .clean(1, &around(1.0))
            .clean_cpu(2, &around(0.5), &around(1.0))
            .traced(1, |run| {
                run.thread("a").runs_in_kernel(ms(200), CLONE3, create).runs(ms(800), WORK);
            })
            .traced(2, |run| {
                for name in ["a", "b"] {
                    run.thread(name).runs_in_kernel(ms(100), CLONE3, create).runs(ms(400), WORK);
                }
            })
            .tables();
        let answer = answer_for(&tables);
        assert_balanced(&answer);
        assert!(found(&answer, CauseId::THREAD_CREATION).is_none(), "{:#?}", answer.verdict);
    }
}

mod clean {
    use super::*;

    #[test]
    fn many_threads_that_are_created_cheaply_are_clear() {
        let create = "?@libc.so.6 < pthread_create@libc.so.6 < spawn_all@app app.c:60 < main@app app.c:90";
        let answer = answer_for(
            &with_base(halved(), WORK)
                .traced(2, |run| {
                    main_joins(run, ms(499));
                    for i in 0..100 {
                        run.thread_at(&format!("t{i}"), ms(i / 2 * 10)).runs(ms(10), WORK).created_at(create);
                    }
                })
                .tables(),
        );
        assert!(answer.verdict.clear.contains(&CauseId::THREAD_CREATION), "{:#?}", answer.verdict);
    }
}
