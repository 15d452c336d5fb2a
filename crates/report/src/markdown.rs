//! The answer as Markdown: for the comment on a pull request, an issue, a chat.
//!
//! Names come from the target. They are written as code spans, or with every character escaped that means something in
//! Markdown or HTML, so that a symbol can neither make a link nor notify a user.

use crate::comparison::Comparison as Cases;
use crate::culprit::{WITHOUT_END, blame};
use crate::experiment::{self, Experiment};
use crate::pair::Pair;
use crate::prediction;
use crate::text::{harmless, sentence};
use crate::words;
use analyze::answer::{Answer, Cause, Comparison, CurveChange, Judgement, Point, Setup};
use analyze::prediction::Prediction;
use std::io::{self, Write};

/// Most rows of evidence for a cause.
const MOST_EVIDENCE: usize = 5;

/// Writes the answer.
///
/// # Errors
/// When `out` cannot be written.
pub fn render(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### knee: {}\n", prose(&answer.verdict.summary))?;
    writeln!(out, "{}\n", command(&answer.command))?;
    if let Some(why) = answer.no_curve() {
        writeln!(out, "{}\n", prose(why))?;
    }
    if !answer.curve.is_empty() {
        curve(answer, out)?;
    }
    for condition in &answer.verdict.machine {
        writeln!(out, "**The machine:** {}.\n", prose(condition.summary.trim_end_matches('.')))?;
    }
    let causes = || answer.verdict.found();
    if answer.verdict.only_small_losses() {
        writeln!(out, "Small losses:\n")?;
    }
    for (i, found) in causes().enumerate() {
        cause(i + 1, found, answer, out)?;
    }
    if let Some(beyond) = &answer.verdict.beyond {
        writeln!(out, "**More of them:** {}.\n", prose(beyond.summary.trim_end_matches('.')))?;
    }
    if !answer.verdict.unsure.is_empty() {
        writeln!(out, "<details><summary>Cannot be told</summary>\n")?;
        for unsure in &answer.verdict.unsure {
            writeln!(out, "- `{}`: {}", unsure.id.name(), prose(&unsure.missing))?;
        }
        writeln!(out, "\n</details>\n")?;
    }
    warnings(&answer.warnings, out)
}

fn curve(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let rate = answer.throughput.as_ref();
    let unit = rate.map(|throughput| format!(" {} |", prose(words::printed(throughput)))).unwrap_or_default();
    let time = if rate.is_some_and(|throughput| throughput.times) { "whole run" } else { "time" };
    writeln!(out, "| {}s |{unit} {time} | speed-up | efficiency |", answer.counted.word())?;
    writeln!(out, "|--:|{}--:|--:|--:|", if rate.is_some() { "--:|" } else { "" })?;
    for point in &answer.curve {
        let rate = match (rate, point.throughput) {
            (Some(printed), Some(rates)) => {
                let value = words::printed_spread(printed, rates).median;
                format!(" {} |", if printed.times { words::time(value) } else { words::count(value) })
            }
            (Some(_), None) => " |".to_owned(),
            (None, _) => String::new(),
        };
        let interval = (point.runs > 1).then_some((point.speedup_interval.low, point.speedup_interval.high));
        let mark = if answer.knee_at == Some(point.threads) { " (knee)" } else { "" };
        let Point { threads, seconds, speedup, efficiency, .. } = point;
        writeln!(
            out,
            "| {threads}{mark} |{rate} {} | {} | {} |",
            words::time(seconds.median),
            words::times(*speedup, interval),
            words::percent(*efficiency),
        )?;
    }
    writeln!(out)
}

fn cause(number: usize, cause: &Cause, answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{number}. **{}**: {} of the loss with {}, {} ({}). {}",
        words::title(cause.id),
        words::percent(cause.share),
        answer.counted.many(cause.threads),
        words::about(cause.lost_seconds),
        words::range(cause.interval.low, cause.interval.high),
        prose(&cause.summary),
    )?;
    if let Some(culprit) = &cause.culprit {
        writeln!(out, "   - Where: {}", prose(&blame(culprit, WITHOUT_END, harmless)))?;
    }
    let numbers: Vec<String> =
        cause.evidence.iter().take(MOST_EVIDENCE).map(|e| format!("{} {}", e.what, words::measured(e))).collect();
    if !numbers.is_empty() {
        writeln!(out, "   - Evidence: {}", prose(&numbers.join("; ")))?;
    }
    if let Some(removed) = answer.what_if.without(&answer.verdict, cause) {
        writeln!(out, "   - Gain: {}", prose(&removed.summary))?;
    }
    if let Some(told) = experiment::told(answer, cause) {
        writeln!(out, "   - Tried: {}", prose(&sentence(&told)))?;
    }
    for remedy in &cause.remedies {
        writeln!(out, "   - Try: {}", prose(remedy))?;
    }
    if !cause.disproved_by.is_empty() {
        writeln!(out, "   - To check: {}", prose(&cause.disproved_by))?;
    }
    writeln!(out)
}

/// Writes the cases of a sweep: a row each.
///
/// # Errors
/// When `out` cannot be written.
pub fn render_cases(comparison: &Cases, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### knee: {}\n", prose(&comparison.title))?;
    let (counts, word) = (comparison.counts(), comparison.counted().word());
    let heads: Vec<String> =
        counts.iter().map(|count| format!(" {count} {word}{} |", if *count == 1 { "" } else { "s" })).collect();
    writeln!(out, "| case |{} first cause |", heads.concat())?;
    writeln!(out, "|---|{}---|", "--:|".repeat(counts.len()))?;
    for case in &comparison.cases {
        let cells = counts.iter().map(|count| {
            let point = case.curve.iter().find(|point| point.threads == *count);
            point.map_or(" |".to_owned(), |p| {
                format!(" {} ({}) |", words::time(p.seconds.median), words::times(p.speedup, None))
            })
        });
        let cause = case.verdict.causes.first().map_or(String::new(), |cause| {
            let place = cause
                .culprit
                .as_ref()
                .map_or(String::new(), |culprit| format!(": {}", blame(culprit, WITHOUT_END, harmless)));
            format!("**{}**{}", cause.id.name(), prose(&place))
        });
        writeln!(out, "| {} |{} {cause} |", prose(&case.label()), cells.collect::<String>())?;
    }
    writeln!(out)?;
    if !comparison.complete {
        writeln!(out, "**Stopped early:** some runs are missing.\n")?;
    }
    for case in &comparison.cases {
        let named: Vec<String> = case.warnings.iter().map(|warning| format!("{}: {warning}", case.label())).collect();
        warnings(&named, out)?;
    }
    Ok(())
}

/// Writes the comparison of two commands.
///
/// # Errors
/// When `out` cannot be written.
pub fn render_pair(pair: &Pair, out: &mut impl Write) -> io::Result<()> {
    let comparison = &pair.comparison;
    writeln!(out, "### knee: {}\n", prose(&comparison.summary))?;
    let same = comparison.setup == Setup::Same;
    for side in &pair.cases[..if same { 1 } else { 2 }] {
        writeln!(out, "- {}: {}", prose(&side.name), command(&side.command))?;
    }
    writeln!(out)?;
    let labels = if same { ("first", "second") } else { ("A", "B") };
    changes(comparison, labels, pair.thread_counts_given, out)?;
    if !pair.complete {
        writeln!(out, "**Stopped early:** some runs are missing.\n")?;
    }
    warnings(&comparison.warnings, out)
}

/// Writes an experiment: a row for each trial.
///
/// # Errors
/// When `out` cannot be written.
pub fn render_experiment(experiment: &Experiment, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### knee: {}\n", prose(&experiment.summary))?;
    writeln!(out, "{}\n", command(&experiment.command))?;
    writeln!(out, "| trial | speed | |\n|---|--:|---|")?;
    for row in &experiment.trials {
        let speed = row.change.as_ref().map(|_| experiment::times(row)).unwrap_or_default();
        let says = row.failed.clone().unwrap_or_else(|| row.says());
        writeln!(out, "| {} | {} | {} |", prose(&row.title), prose(&speed), prose(&says))?;
    }
    writeln!(out)?;
    for row in &experiment.trials {
        if let Some(keep) = &row.keep {
            writeln!(out, "To keep {}: {}\n", prose(&row.title), command(std::slice::from_ref(&keep.shell)))?;
        }
        if let Some(instead) = &row.instead {
            writeln!(out, "Instead of {}: {}\n", prose(&row.title), prose(&sentence(instead)))?;
        }
    }
    if !experiment.complete {
        writeln!(out, "**Stopped early:** some runs are missing.\n")?;
    }
    warnings(&experiment.warnings, out)
}

/// Writes the comparison of two recordings.
///
/// # Errors
/// When `out` cannot be written.
pub fn render_comparison(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### knee: {}\n", prose(&comparison.summary))?;
    changes(comparison, ("before", "after"), true, out)?;
    warnings(&comparison.warnings, out)
}

/// Writes a prediction.
///
/// # Errors
/// When `out` cannot be written.
pub fn render_prediction(prediction: &Prediction, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### knee: what more processors would bring\n")?;
    writeln!(out, "{}\n", command(&prediction.command))?;
    if let Some(refused) = &prediction.refused {
        return writeln!(out, "{}", prose(&sentence(&prediction::refusal(refused))));
    }
    writeln!(out, "{}\n", prose(&prediction::headline(prediction)))?;
    let table = prediction::table(prediction);
    writeln!(out, "| {} |", table.titles.join(" | "))?;
    writeln!(out, "|{}", "--:|".repeat(table.titles.len()))?;
    for cells in &table.rows {
        writeln!(out, "| {} |", cells.iter().map(|cell| prose(cell)).collect::<Vec<_>>().join(" | "))?;
    }
    writeln!(out)?;
    for text in prediction::below(prediction).iter().map(String::as_str).chain(prediction::reading(prediction)) {
        writeln!(out, "- {}", prose(text))?;
    }
    Ok(())
}

fn changes(
    comparison: &Comparison,
    (before, after): (&str, &str),
    counts_given: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if comparison.curve.is_empty() {
        return Ok(());
    }
    let (count, line) = match counts_given {
        true => (format!(" {}s |", comparison.counted.word()), "--:|"),
        false => (String::new(), ""),
    };
    writeln!(out, "|{count} {before} | {after} | speed | |")?;
    writeln!(out, "|{line}--:|--:|--:|---|")?;
    for CurveChange { threads, before, after, speed, interval, judgement, .. } in &comparison.curve {
        let count = if counts_given { format!(" {threads} |") } else { String::new() };
        let judged = match judgement {
            Judgement::Better => "faster",
            Judgement::Worse => "**slower**",
            Judgement::Unclear => "cannot be told from noise",
        };
        let speed = words::times(*speed, interval.map(|i| (i.low, i.high)));
        writeln!(out, "|{count} {} | {} | {speed} | {judged} |", words::time(*before), words::time(*after))?;
    }
    writeln!(out)
}

fn warnings(warnings: &[String], out: &mut impl Write) -> io::Result<()> {
    for warning in warnings {
        writeln!(out, "> **Note:** {}\n", prose(warning))?;
    }
    Ok(())
}

/// A command as a code span, with more backticks around it than it contains.
fn command(words: &[String]) -> String {
    let text = harmless(&words.join(" "));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// Text in which nothing is markup, a link, or the name of a user.
fn prose(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // As entities they neither notify a user nor link an issue.
            '@' => safe.push_str("&#64;"),
            '#' => safe.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    // URLs become links even without markup.
    safe.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_markup() {
        assert_eq!(prose("Vec<T>::push (a_b.rs:3)"), "Vec&lt;T&gt;::push (a\\_b.rs:3)");
        assert_eq!(prose("@everyone #1 [x](http://y)"), "&#64;everyone &#35;1 \\[x\\](http:&#47;/y)");
        assert_eq!(command(&["a`b``".to_owned()]), "``` a`b`` ```");
        assert_eq!(command(&["./x".to_owned(), "4".to_owned()]), "`./x 4`");
    }
}
