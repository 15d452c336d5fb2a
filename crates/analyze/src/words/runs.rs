//! What to know of the timed runs, in words.

use crate::curve::RunNote;
use crate::disturbance::{Disturbance, DisturbedBlocks, disturbed_blocks};
use recording::Tables;
use recording::meta::Counted;
use std::fmt;

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disturbance::Steal(share) => {
                write!(f, "the hypervisor took {:.0} % of the processors for other machines", share * 100.0)
            }
            Disturbance::Load(share) => {
                write!(f, "other programs took {:.0} % of the processors", share.min(1.0) * 100.0)
            }
            Disturbance::Quota(share) => write!(
                f,
                "the control group's quota took {:.0} % of the processors' time, unlike in the other runs",
                share * 100.0
            ),
            Disturbance::Heat(times) => {
                write!(f, "the processors throttled themselves because of heat or power, {times} times")
            }
            Disturbance::Clock(clock, usual) => {
                write!(f, "the processors' clock was at {:.2} GHz, usually at {:.2} GHz", clock * 1e-9, usual * 1e-9)
            }
        }
    }
}

/// What disturbed the blocks of a recording, a sentence for those that were made again and one for those that were kept.
pub fn disturbed(tables: &Tables) -> Vec<String> {
    disturbed_blocks(tables).iter().map(|blocks| in_words(blocks, tables.meta.counted)).collect()
}

fn in_words(disturbed: &DisturbedBlocks, counted: Counted) -> String {
    let DisturbedBlocks { kept, blocks, of, first } = disturbed;
    let why = match first {
        Some((disturbance, threads)) => format!("{disturbance} in a run with {}", counted.many(*threads)),
        None => "in a run of another case".to_owned(),
    };
    match (kept, blocks) {
        (false, 1) => format!("1 timed block was disturbed and made again ({why})"),
        (false, blocks) => format!("{blocks} timed blocks were disturbed and made again (at first: {why})"),
        (true, 1) => format!("1 of {of} timed blocks was disturbed and kept nevertheless ({why})"),
        (true, blocks) => format!("{blocks} of {of} timed blocks were disturbed and kept nevertheless ({why})"),
    }
}

/// A note about the timed runs.
pub(crate) fn note(note: RunNote, counted: Counted) -> String {
    match note {
        RunNote::Failed { threads, runs } => {
            format!("{runs} of the timed runs with {} failed and were left out", counted.many(threads))
        }
        RunNote::SomeThroughputs => {
            "not every run printed a usable throughput: runs are compared by their wall time".to_owned()
        }
        RunNote::OneRun { threads } => {
            format!("only one timed run with {}: its noise is unknown", counted.many(threads))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::Sketch;
    use recording::tables::RunKind;

    #[test]
    fn the_reader_is_told_what_was_set_aside_and_what_was_kept() {
        let mut tables = Sketch::new(2).clean(2, &[2.0; 4]).tables();
        assert!(disturbed(&tables).is_empty());
        tables.runs[1].foreign_ns = Some(2_000_000_000);
        tables.runs[3].steal_ns = Some(1_000_000_000);
        let kept = disturbed(&tables);
        assert_eq!(
            kept,
            [
                "2 of 4 timed blocks were disturbed and kept nevertheless (other programs took 50 % of the processors in a \
              run with 2 threads)"
            ]
        );
        tables.runs[1].kind = RunKind::Disturbed;
        tables.runs[2].kind = RunKind::Disturbed;
        let told = disturbed(&tables);
        assert!(
            told[0].starts_with("2 timed blocks were disturbed and made again (at first: other programs"),
            "{told:?}"
        );
        assert!(told[1].starts_with("1 of 2 timed blocks was disturbed and kept"), "{told:?}");
        tables.runs[1].foreign_ns = None;
        assert!(disturbed(&tables)[0].contains("in a run of another case"));
    }
}
