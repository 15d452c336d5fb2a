//! Which of several observed runs of one thread count is analysed, and which part of it counts.

use crate::disturbance::load;
use crate::statistics::median;
use recording::Tables;
use recording::tables::{MarkKind, Run, RunKind, Trace};

/// The measured part of a run, in nanoseconds. For a server under load, the time of the load. Otherwise from the first
/// mark that begins a part to the last that ends one, cut to the trace; `None` without marks. A part that is never
/// ended lasts to the end of the trace.
pub(super) fn measured(tables: &Tables, trace: &Trace) -> Option<(u64, u64)> {
    if let Some((begin, end)) = trace.load_begin_ns.zip(trace.load_end_ns) {
        let (begin, end) = (begin.max(trace.begin_ns), end.min(trace.end_ns));
        return (end > begin).then_some((begin, end));
    }
    let mut begin: Option<u64> = None;
    let mut end: Option<u64> = None;
    let mut open = 0_i64;
    for mark in tables.marks.iter().filter(|m| m.run == trace.run) {
        match mark.kind {
            MarkKind::Begin => {
                open += 1;
                begin = Some(begin.map_or(mark.time_ns, |b| b.min(mark.time_ns)));
            }
            MarkKind::End => {
                open -= 1;
                end = Some(end.map_or(mark.time_ns, |e| e.max(mark.time_ns)));
            }
            _ => {}
        }
    }
    let end = end.filter(|_| open <= 0).unwrap_or(trace.end_ns).min(trace.end_ns);
    let begin = begin?.max(trace.begin_ns);
    (end > begin).then_some((begin, end))
}

/// How far a run is from the timed runs of its count: |ln(time / median)| for the time of a unit of work, plus the
/// share of the processors that other programs took beyond the usual.
///
/// Contended programs can have two speeds. A sweep traces a count again when the first traced run had the other speed
/// or was disturbed; the traced run most like the timed runs is analysed.
pub(super) fn distance(tables: &Tables, run: &Run) -> f64 {
    let time = |r: &Run| match r.throughput {
        Some(units) => 1.0 / units,
        None => r.wall_ns as f64,
    };
    let processors = tables.meta.usable_at(run.threads);
    let clean = || tables.runs.iter().filter(|r| r.kind == RunKind::Clean && r.threads == run.threads);
    let slower = median(&clean().map(time).collect::<Vec<_>>()).map_or(0.0, |median| (time(run) / median).ln().abs());
    let usual = median(&clean().filter_map(|r| load(r, processors)).collect::<Vec<_>>()).unwrap_or(0.0);
    let disturbed = load(run, processors).map_or(0.0, |load| (load - usual).max(0.0));
    let distance = slower + disturbed;
    if distance.is_nan() { f64::INFINITY } else { distance }
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use recording::synthetic::{Sketch, ms};

    #[test]
    fn of_several_traced_runs_the_one_most_like_the_timed_ones_is_taken() {
        let mut sketch = Sketch::new(2).clean(2, &[0.010, 0.011, 0.012]);
        for length in [50, 11, 2] {
            sketch = sketch.traced(2, |run| {
                run.thread("a").runs(ms(length), "work@app");
            });
        }
        let tables = sketch.tables();
        let model = Model::new(&tables);
        assert_eq!(model.traced.iter().map(|t| t.run.wall_ns).collect::<Vec<_>>(), [ms(11)]);
    }
}
