//! The scaling table: one row per thread count.

use super::page::Page;
use super::style::Tone;
use super::table::{Lean, Table};
use crate::words::{self, Scale};
use analyze::answer::{Answer, CounterId, Point, Spread};
use std::io;

pub(super) fn render(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    let (Some(first), Some(last)) = (answer.curve.first(), answer.curve.last()) else {
        if let Some(why) = answer.no_curve() {
            page.title(if answer.account.is_empty() { "No timed runs" } else { "One observed run" }, "")?;
            return page.paragraph("", Tone::Faint, why);
        }
        page.title("Scaling", "")?;
        return page.paragraph("", Tone::Warning, "no timed run was finished");
    };
    let (least, most) = answer.curve.iter().fold((first.runs, last.runs), |(a, b), p| (a.min(p.runs), b.max(p.runs)));
    let runs = if least == most { words::plural(least.into(), "run") } else { format!("{least} to {most} runs") };
    let bends = answer.curve.iter().any(|p| Some(p.threads) == answer.knee_at);
    let meaning = if bends { "; knee = last count worth using" } else { "" };
    page.title("Scaling", &format!("medians of {runs}, 95 % intervals{meaning}"))?;
    page.table(&table(answer))?;
    if let Some(throughput) = &answer.throughput {
        let from = match (answer.load.is_some(), throughput.given) {
            (false, true) => "read from the program's output by --throughput",
            (false, false) if throughput.times => {
                "read from the output; speed-ups are of it. --throughput none compares whole runs"
            }
            (false, false) => "read from the output; --throughput REGEX reads another number",
            (true, true) => "read from the load's output by --throughput",
            (true, false) => {
                "read from the load's output, without what failed; --throughput REGEX reads another number"
            }
        };
        page.paragraph("", Tone::Faint, &format!("{}: {from}", words::printed(throughput)))?;
    }
    if answer.curve.iter().any(|point| point.load.is_some()) {
        let latency = answer.curve.iter().any(|point| point.load.is_some_and(|load| load.latency_99.is_some()));
        let quantile = if latency { "; 99 %: so many requests took no longer" } else { "" };
        let told = format!("time: the load's; CPUs: the server's; load: the processors that the load took{quantile}");
        page.paragraph("", Tone::Faint, &told)?;
    }
    if let Some(how) = words::bounds(answer) {
        page.paragraph("", Tone::Faint, &how)?;
    }
    if bends || answer.curve.len() == 1 {
        return Ok(());
    }
    page.paragraph("", Tone::Faint, "no knee: the curve has not bent, or not by more than the noise")
}

fn table(answer: &Answer) -> Table {
    let mut table = Table::default();
    table.column(format!("{}s", answer.counted.word()), Lean::Right, 0);
    let printed = answer.throughput.as_ref();
    let times_only = printed.is_some_and(|throughput| throughput.times);
    table.column(printed.map_or("units/s", words::printed), Lean::Left, 0);
    table.column(if times_only { "whole run" } else { "time" }, Lean::Left, 3);
    table.column("speed-up", Lean::Left, 0);
    table.column("efficiency", Lean::Right, 2);
    table.column("CPUs", Lean::Right, 1);
    // When processors are counted, the program chooses its own number of threads.
    let chosen = answer.account.iter().any(|account| account.working_threads.is_some());
    if chosen {
        table.column("threads", Lean::Right, 2);
    }
    // Columns about the load of a server: the processors it used, the latency it saw.
    let loaded = answer.load.is_some();
    let latency = answer.curve.iter().any(|point| point.load.is_some_and(|load| load.latency_99.is_some()));
    if loaded {
        table.column("load", Lean::Right, 1);
    }
    if latency {
        table.column("99 %", Lean::Right, 2);
    }
    table.column("switches", Lean::Right, 4);
    table.column("system", Lean::Right, 5);
    let largest = |of: &dyn Fn(&Point) -> Option<f64>| {
        answer.curve.iter().filter_map(of).filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let times = Scale::time(largest(&|p| Some(p.seconds.median)));
    let of_output = |point: &Point| Some(words::printed_spread(printed?, point.throughput?));
    let scale = |throughput| words::printed_scale(throughput, largest(&|p| of_output(p).map(|t| t.median)));
    let rates = printed.map_or(Scale::count(0.0), scale);
    for point in &answer.curve {
        let is_knee = answer.knee_at == Some(point.threads);
        let threads = if is_knee { format!("knee {:>2}", point.threads) } else { point.threads.to_string() };
        let interval = point.speedup_interval;
        let working = answer.account.iter().find(|account| account.threads == point.threads);
        let working = working.and_then(|account| account.working_threads).map(|threads| threads.to_string());
        table.row(
            if is_knee { Tone::Strong } else { Tone::Plain },
            [
                threads,
                of_output(point).map_or(String::new(), |t| measured(point, t, rates)),
                measured(point, point.seconds, times),
                words::times(point.speedup, known(point, (interval.low, interval.high))),
                words::percent(point.efficiency),
                words::number(point.processors_used, 2),
            ]
            .into_iter()
            .chain(chosen.then(|| working.unwrap_or_default()))
            .chain(loaded.then(|| point.load.map_or(String::new(), |load| words::number(load.processors_used, 2))))
            .chain(latency.then(|| point.load.and_then(|load| load.latency_99).map_or(String::new(), words::time)))
            .chain([
                switches(point).map_or(String::new(), words::count),
                system_share(point).map_or(String::new(), words::percent),
            ])
            .collect(),
        );
    }
    table
}

fn measured(point: &Point, spread: Spread, scale: Scale) -> String {
    scale.around(spread.median, known(point, (spread.low, spread.high)))
}

/// A single run has no spread: an interval of width 0 would mean nothing.
fn known<T>(point: &Point, spread: T) -> Option<T> {
    (point.runs > 1).then_some(spread)
}

fn switches(point: &Point) -> Option<f64> {
    Some(point.counters.get(&CounterId::VoluntarySwitches)? + point.counters.get(&CounterId::InvoluntarySwitches)?)
}

/// Kernel time as a share of CPU time.
fn system_share(point: &Point) -> Option<f64> {
    let system = point.counters.get(&CounterId::SystemSeconds)?;
    let cpu = system + point.counters.get(&CounterId::UserSeconds)?;
    (cpu > 0.0).then(|| system / cpu)
}
