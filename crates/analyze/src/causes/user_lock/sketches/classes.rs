//! Monitors that methods of a library's class take.

#![allow(clippy::unwrap_used, reason = "test code")]

use crate::answer::CauseId;
use crate::common::*;
use recording::synthetic::{Sketch, ms};

const WORK: &str = "work@app app.c:5";

/// Two threads take turns of ten milliseconds. Who waits does so in one of two methods of a library, which the program calls
/// at two lines. Returns the causes, and how many call sites the first one has.
fn causes(methods: [&str; 2]) -> (usize, usize) {
    let waits = |at: usize| {
        format!(
            "__lll_lock_wait@libc.so.6 < ObjectMonitor::enter(JavaThread*)@libjvm.so < {}@anonymous < \
             com.acme.Desk.quote@anonymous Desk.java:{}",
            methods[at],
            20 + at
        )
    };
    let sketch = Sketch::new(2).clean(1, &around(1.0)).clean_cpu(2, &around(1.0), &around(1.0));
    let tables = with_base(sketch, WORK)
        .traced(2, |run| {
            for (i, (name, other)) in [("a", "b"), ("b", "a")].into_iter().enumerate() {
                let mut thread = run.thread(name);
                for round in 0..100_usize {
                    thread = match round % 2 == i {
                        true => thread.runs(ms(10), WORK),
                        false => thread.locks(0x100 + i as u64, ms(10), &waits(round / 2 % 2), other),
                    };
                }
            }
        })
        .tables();
    let answer = answer_for(&tables);
    let locks: Vec<_> = answer.verdict.causes.iter().filter(|cause| cause.id == CauseId::USER_LOCK).collect();
    (locks.len(), locks.first().and_then(|lock| lock.culprit.as_ref()).map_or(0, |who| who.callers.len()))
}

/// Near miss: classes may have a monitor each.
#[test]
fn methods_of_one_class_take_one_monitor() {
    assert_eq!(causes(["java.util.Hashtable.get", "java.util.Hashtable.put"]), (1, 2));
    assert_eq!(causes(["java.util.Hashtable.get", "java.util.Vector.add"]).0, 2);
}
