//! Two threads that hand work to each other through a futex.

use crate::common::*;
use recording::Tables;
use recording::synthetic::{Sketch, ms};

/// Two threads that hand a lock to each other and each run half of the time; `stack` is where they wait.
pub(crate) fn handing_over(stack: &str) -> Tables {
    Sketch::new(2)
        .clean(1, &around(1.0))
        .clean_cpu(2, &around(1.0), &around(1.0))
        .traced(1, |run| {
            run.thread("a").runs(ms(1000), RANDOM.work);
        })
        .traced(2, |run| {
            run.thread("a").runs(ms(500), RANDOM.work).locks(1, ms(500), stack, "b");
            run.thread("b").locks(1, ms(500), stack, "a").runs(ms(500), RANDOM.work);
        })
        .tables()
}
