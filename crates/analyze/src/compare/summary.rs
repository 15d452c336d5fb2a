//! The result of a comparison, in words.

use crate::answer::{CurveChange, Interval, Judgement};
use crate::statistics::intervals::runs_needed;
use crate::statistics::paired::blocks_needed;
use recording::meta::Counted;

/// Half an interval's width as a share: 2 % for 0.98 to 1.02.
pub(super) fn half(interval: Interval) -> f64 {
    (interval.high / interval.low).sqrt() - 1.0
}

/// What a change did, by thread count.
pub(super) fn of_change(curve: &[CurveChange], error: f64, counted: Counted) -> String {
    let of = |wanted: fn(&CurveChange) -> bool| {
        curve.iter().filter(|c| wanted(c)).map(|c| c.threads.to_string()).collect::<Vec<_>>().join(", ")
    };
    let few = format!("cannot be told, because at least {} runs of each are needed,", runs_needed(error));
    let kinds: [(String, &str); 4] = [
        (of(|c| c.judgement == Judgement::Better), "faster"),
        (of(|c| c.judgement == Judgement::Worse), "slower"),
        (of(|c| c.judgement == Judgement::Unclear && c.interval.is_some()), "cannot be told from noise"),
        (of(|c| c.judgement == Judgement::Unclear && c.interval.is_none()), &few),
    ];
    let told = kinds.iter().filter(|(counts, _)| !counts.is_empty());
    let parts: Vec<String> = told.map(|(counts, word)| format!("{word} with {counts} {}s", counted.word())).collect();
    match parts.is_empty() {
        true => format!("No {} count was timed in both recordings.", counted.word()),
        false => format!("After the change: {}.", parts.join("; ")),
    }
}

/// What can be said about B compared with A.
pub(super) fn of_commands(curve: &[CurveChange], error: f64, counted: Counted) -> String {
    if curve.is_empty() {
        return format!("The two were not both timed with any {} count.", counted.word());
    }
    let several = curve.len() > 1;
    let sentences: Vec<String> = curve
        .iter()
        .map(|point| {
            let with = if several { format!("With {}: ", counted.many(point.threads)) } else { String::new() };
            let told = match (point.judgement, point.interval) {
                (Judgement::Better, Some(i)) => {
                    format!("B is faster than A: {} times as fast ({})", digits(point), range(i))
                }
                (Judgement::Worse, Some(i)) => {
                    let inverse = Interval { low: 1.0 / i.high, high: 1.0 / i.low };
                    let decimals = decimals(point.resolution);
                    format!("B is {:.decimals$} times slower than A ({})", 1.0 / point.speed, range(inverse))
                }
                (_, Some(i)) => {
                    format!("it cannot be told whether B is faster or slower than A: its speed is {} of A's", range(i))
                }
                (_, None) => format!(
                    "it cannot be told whether B is faster or slower than A: {}, at least {} are needed",
                    blocks(point),
                    blocks_needed(error)
                ),
            };
            format!("{with}{told}.")
        })
        .map(|sentence| capital(&sentence))
        .collect();
    sentences.join(" ")
}

/// Which differences can be seen in the machine's noise.
pub(super) fn of_noise(curve: &[CurveChange], error: f64, counted: Counted) -> String {
    let Some(first) = curve.first() else { return format!("No {} count was timed twice.", counted.word()) };
    let with = |point: &CurveChange| match curve.len() {
        1 => String::new(),
        _ => format!(" with {}", counted.many(point.threads)),
    };
    let seen: Vec<String> =
        curve.iter().filter_map(|point| Some(format!("{} %{}", percent(point.resolution?), with(point)))).collect();
    if seen.is_empty() {
        return format!("The noise is not known: {}, at least {} are needed.", blocks(first), blocks_needed(error));
    }
    let claimed: Vec<String> = curve
        .iter()
        .filter(|point| point.judgement != Judgement::Unclear)
        .map(|point| format!("{} %{}", percent((point.speed - 1.0).abs()), with(point)))
        .collect();
    let seen = format!("Differences of speed can be seen from about {} on, with {}.", seen.join(", "), blocks(first));
    match claimed.is_empty() {
        true => format!("The command does not differ from itself. {seen}"),
        false => format!(
            "The command seems to differ from itself, by {}: chance does that in one check of twenty. If another check \
             says the same, do not trust differences of this size on this machine. {seen}",
            claimed.join(", ")
        ),
    }
}

fn blocks(point: &CurveChange) -> String {
    let blocks = point.blocks.unwrap_or(0);
    format!("{blocks} {}", if blocks == 1 { "block" } else { "blocks" })
}

fn digits(point: &CurveChange) -> String {
    format!("{:.*}", decimals(point.resolution), point.speed)
}

fn range(interval: Interval) -> String {
    let decimals = decimals(Some(half(interval)));
    format!("{:.decimals$} to {:.decimals$}", interval.low, interval.high)
}

/// Two decimals show a difference of one per cent; narrower intervals get a third.
fn decimals(resolution: Option<f64>) -> usize {
    if resolution.is_some_and(|r| r < 0.005) { 3 } else { 2 }
}

fn percent(share: f64) -> String {
    let hundredths = share * 100.0;
    format!("{hundredths:.*}", if hundredths < 9.95 { 1 } else { 0 })
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
