//! Time outside the measured part in words: what the printed rate does not count.

use crate::facts::Facts;
use crate::model::Traced;
use crate::model::window::{OutsideTime, Part};
use crate::statistics::MIN_SHARE;

/// What the reader should know about the time outside the measured part.
pub(crate) fn warnings(facts: &Facts<'_, '_>) -> Vec<String> {
    match facts.model.part {
        Part::Whole | Part::Marked => Vec::new(),
        Part::Open => vec![
            "the rate that the program prints fits neither its whole run nor the time of its worker threads: the account \
             is of the whole run, and what the rate does not count may stand in it"
                .to_owned(),
        ],
        Part::Workers { .. } if facts.clean.by_time => outside(TIMED, facts),
        Part::Workers { certain: true } => outside(COUNTED, facts),
        Part::Workers { certain: false } => outside(PERHAPS, facts),
        Part::AsLong if facts.clean.by_time => outside(TIMED_SOMEWHERE, facts),
        Part::AsLong => outside(BY_LENGTH, facts),
    }
}

/// How the measured part is known, and what that says about the rest.
struct Reading {
    before: &'static str,
    after: &'static str,
    told: &'static str,
}

const COUNTED: Reading = Reading {
    before: "before the workers start",
    after: "after they have ended",
    told: "the rate that the program prints does not count them",
};

const TIMED: Reading = Reading { told: "the time that the program prints does not count them", ..COUNTED };

const TIMED_SOMEWHERE: Reading = Reading { told: TIMED.told, ..BY_LENGTH };

const PERHAPS: Reading = Reading {
    told: "the rate that the program prints mostly leaves such a part out; whether this one does cannot be told",
    ..COUNTED
};

const BY_LENGTH: Reading = Reading {
    before: "at the start",
    after: "at the end",
    told: "the timed runs take about that much longer than the work at their printed rate",
};

fn outside(reading: Reading, facts: &Facts<'_, '_>) -> Vec<String> {
    facts.model.traced.last().map(|run| told(&reading, run, facts)).into_iter().collect()
}

fn told(reading: &Reading, run: &Traced<'_>, facts: &Facts<'_, '_>) -> String {
    let OutsideTime { before, after, whole } = OutsideTime::for_run(run);
    let mut parts = Vec::new();
    if before > after * MIN_SHARE {
        parts.push(format!("{before:.2} s {}", reading.before));
    }
    if after > before * MIN_SHARE {
        parts.push(format!("{after:.2} s {}", reading.after));
    }
    let walls = (facts.points.first(), facts.points.last());
    let faster = match walls {
        (Some(few), Some(many)) if few.threads < many.threads && many.seconds.median > 0.0 => {
            format!(
                ". As a whole, with {} the program takes {:.2} of its time with {}",
                run.counted.many(many.threads),
                many.seconds.median / few.seconds.median,
                few.threads
            )
        }
        _ => String::new(),
    };
    format!(
        "{} ({:.0} % of the observed run with {}) are outside the measured part: {}{faster}",
        parts.join(" and "),
        100.0 * (before + after) / whole,
        run.counted.many(run.run.threads),
        reading.told
    )
}
