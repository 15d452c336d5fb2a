//! A part without a cause that is larger than one with a cause.

use crate::common::waiting::*;
use crate::common::*;
use analyze::answer::CauseId;
use recording::synthetic::{Sketch, ms};

/// A small cause beside a large unexplained loss.
#[test]
fn a_larger_part_that_is_not_explained_is_in_the_summary() {
    let wait = format!("{PARK} < ?@anonymous a:1");
    let (sell, start) = ("void Shop.sell(int)@anonymous", "void Shop.load()@anonymous");
    let tables = |alone: u64| {
        let seconds = 1.0 + alone as f64 * 1e-3;
        let sketch = Sketch::new(2).clean(1, &around(seconds)).clean_cpu(2, &around(seconds), &around(seconds));
        sketch
            .traced(1, |run| {
                run.thread("main").runs(ms(alone), start).runs(ms(1000), sell);
            })
            .traced(2, |run| {
                main_joins(run, ms(1000 + alone));
                for (i, name) in ["a", "b"].into_iter().enumerate() {
                    let mut thread = run.thread_at(name, if i == 0 { 0 } else { ms(alone) });
                    thread = if i == 0 { thread.runs(ms(alone), start) } else { thread };
                    for round in 0..100_usize {
                        thread = match round % 2 == i {
                            true => thread.runs(ms(10), sell),
                            false => thread.locks(0x100 + i as u64, ms(10), &wait, ["b", "a"][i]),
                        };
                    }
                }
            })
            .tables()
    };
    let answer = answer_for(&tables(200));
    assert_balanced(&answer);
    assert_eq!(ids(&answer), [CauseId::NONE, CauseId::SERIAL_PHASE], "{:#?}", answer.verdict);
    let told = &answer.verdict.summary;
    assert!(told.contains("The largest part, 42 %, is not explained. A smaller part, 8 %: Shop.load"), "{told}");
    let answer = answer_for(&tables(2000));
    assert!(!answer.verdict.summary.contains("A larger part"), "{}", answer.verdict.summary);
}
