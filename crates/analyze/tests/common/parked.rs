//! Tasks that were looked at while the threads of their scheduler slept.

use crate::common::*;
use analyze::answer::Answer;
use analyze::model::parked_tasks::tell_tasks;
use recording::Tables;
use recording::synthetic::{RunSketch, Sketch, ms};

pub(crate) const WORK: &str = "main.serve@app a.go:5 < main.main.func1@app a.go:40 < runtime.goexit@app";

/// A thread of the scheduler that sleeps, after a goroutine that waits for a socket.
pub(crate) const IDLE: &str = "runtime.futex@app < runtime.notesleep@app < runtime.stopm@app < runtime.findRunnable@app < \
                    runtime.schedule@app < runtime.park_m@app < runtime.mcall@app < runtime.gopark@app < \
                    runtime.netpollblock@app < internal/poll.runtime_pollWait@app < internal/poll.(*FD).Read@app < \
                    main.serve@app a.go:7 < main.main.func1@app a.go:40 < runtime.goexit@app";

/// Two threads of a scheduler of which nearly always nobody runs, looked at every ten milliseconds.
pub(crate) fn server(waiting: &[(&str, u32)]) -> Tables {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.2));
    let run = |run: &mut RunSketch<'_>| {
        for name in ["a", "b"] {
            run.thread(name).runs(ms(100), WORK).locks(0x100, ms(900), IDLE, "a");
        }
        (0..100).for_each(|look| run.look(ms(10 * look), waiting));
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    tell_tasks(&mut tables);
    tables
}

pub(crate) fn answer(waiting: &[(&str, u32)]) -> Answer {
    answer_for(&server(waiting))
}

pub(crate) const TAKES: &str = "runtime.gopark@app < runtime.chanrecv@app < runtime.chanrecv1@app < main.acquire@app a.go:60 < \
                     main.upload@app a.go:71 < runtime.goexit@app";

pub(crate) const ASLEEP_WITH_ONE: &str = "runtime.gopark@app < time.Sleep@app < main.send@app a.go:66 < main.upload@app a.go:72 < \
                               runtime.goexit@app";

/// The run of [`server`], with a number of tasks that wait and one of tasks that sleep in each look, and functions that
/// run for ten samples each.
pub(crate) fn channel(looks: usize, tasks: impl Fn(usize) -> (u32, u32), ran: &[&str]) -> Answer {
    channel_at(TAKES, looks, tasks, ran)
}

/// The same, where tasks wait at this place.
pub(crate) fn channel_at(takes: &str, looks: usize, tasks: impl Fn(usize) -> (u32, u32), ran: &[&str]) -> Answer {
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(0.2));
    let run = |run: &mut RunSketch<'_>| {
        let works = run.thread("a").runs(ms(100 - 10 * ran.len() as u64), WORK);
        ran.iter().fold(works, |thread, stack| thread.runs(ms(10), stack)).locks(0x100, ms(900), IDLE, "a");
        run.thread("b").runs(ms(100), WORK).locks(0x100, ms(900), IDLE, "a");
        for look in 0..looks {
            let (wait, sleep) = tasks(look);
            run.look(ms(1000 / looks as u64 * look as u64), &[(takes, wait), (ASLEEP_WITH_ONE, sleep)]);
        }
    };
    let mut tables = with_base(sketch, WORK).traced(2, run).tables();
    tell_tasks(&mut tables);
    answer_for(&tables)
}
