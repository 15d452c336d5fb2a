//! What the load of a server reports: its numbers at each count, and failed requests.

use crate::answer::LoadPoint;
use crate::curve::{Clean, seconds};
use recording::Tables;
use recording::tables::{Run, RunKind};
use std::collections::BTreeMap;

/// The load at a count; `None` where there was none.
pub fn point(clean: &Clean<'_>, threads: u32) -> Option<LoadPoint> {
    let median = |value: &dyn Fn(&Run) -> Option<f64>| {
        clean.median(threads, |run| value(run).unwrap_or(f64::NAN)).filter(|median| median.is_finite())
    };
    Some(LoadPoint {
        processors_used: median(&|run| Some(processors_taken(run)))?,
        threads: median(&|run| run.load_threads.map(f64::from)).map_or(0, |threads| threads as u32),
        errors: median(&|run| run.load_errors.map(|errors| errors as f64)),
        latency_median: median(&|run| run.latency_median_ns.map(seconds)),
        latency_99: median(&|run| run.latency_99_ns.map(seconds)),
    })
}

/// How many processors the load of a run took; not a number where there was none.
pub fn processors_taken(run: &Run) -> f64 {
    run.load_ns.map_or(f64::NAN, seconds) / seconds(run.wall_ns)
}

/// Warnings about requests that failed in timed runs.
pub fn warnings(tables: &Tables) -> Vec<String> {
    let mut failed: BTreeMap<u32, u64> = BTreeMap::new();
    for run in tables.runs.iter().filter(|run| run.kind == RunKind::Clean) {
        let sum = failed.entry(run.threads).or_default();
        *sum = sum.saturating_add(run.load_errors.unwrap_or(0));
    }
    let counted = tables.meta.counted;
    let told: Vec<String> = failed
        .into_iter()
        .filter(|(_, failed)| *failed > 0)
        .map(|(threads, failed)| format!("{failed} with {}", counted.many(threads)))
        .collect();
    match told.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "requests of the load failed in the timed runs, and are in no throughput: {}",
            told.join(", ")
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::synthetic::Sketch;

    #[test]
    fn what_failed_is_said_by_count() {
        let mut tables = Sketch::new(2).clean(1, &[1.0, 1.0]).clean(2, &[1.0]).tables();
        assert!(warnings(&tables).is_empty() && point(&Clean::new(&tables), 1).is_none());
        for run in &mut tables.runs {
            (run.load_ns, run.load_threads, run.load_errors) = (Some(500_000_000), Some(3), Some(7));
            run.latency_99_ns = Some(2_000_000);
        }
        assert!(warnings(&tables)[0].ends_with("14 with 1 thread, 7 with 2 threads"), "{:?}", warnings(&tables));
        let point = point(&Clean::new(&tables), 1).unwrap();
        assert_eq!((point.processors_used, point.threads, point.errors), (0.5, 3, Some(7.0)));
        assert_eq!((point.latency_median, point.latency_99), (None, Some(0.002)));
    }
}
