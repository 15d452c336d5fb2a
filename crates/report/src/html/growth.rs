//! What grew between two thread counts: functions and lines. Of one run alone, where its processor time went.

use super::answer::per_work;
use super::markup::Markup;
use super::page::focus;
use super::tables;
use super::tables::Own;
use crate::observed::Observed;
use crate::show::functions::{functions, lines, seconds_per_sample};
use crate::show::view::Cell;
use crate::show::{Pick, View};
use analyze::Analysis;
use analyze::growth::{SampledSeconds, differ};

/// Rows of each table.
const MOST_ROWS: usize = 40;
/// Columns of the own time and of the base's own time in the views of functions and lines.
const OWN: usize = 2;
const BASE: usize = 5;

/// What the section is called, in the page and in its address.
pub(super) fn title(analysis: &Analysis<'_, '_>) -> (&'static str, &'static str) {
    match Observed::all(analysis).count() {
        0 | 1 => ("functions", "Functions and call paths"),
        _ => ("grew", "What grew"),
    }
}

pub(super) fn section(analysis: &Analysis<'_, '_>) -> Option<String> {
    let answer = &analysis.answer;
    let now = Observed::at(analysis, focus(answer))?;
    if now.traced.samples.is_empty() {
        return None;
    }
    let base = Observed::base(analysis);
    let mut m = Markup::default();
    let imported = now.model.tables.meta.imported.is_some();
    let per = if imported { "of the whole profile".to_owned() } else { per_work(answer) };
    let compared = base.filter(|b| b.traced.run.run != now.traced.run.run);
    let with = now.traced.count();
    m.p(
        "lead",
        &match &compared {
            Some(base) => format!(
                "Processor time {per} with {with}, against {}: what grew comes first.",
                base.traced.count()
            ),
            None => format!(
                "Processor time {per} with {with}, by function. A sweep over several thread counts would show what grows."
            ),
        },
    );
    m.raw("<div class=\"flames\"><div id=\"flame\" hidden></div><div id=\"flame-waits\" hidden></div></div>\n");
    let of = |view: View| {
        let mut view = view;
        // What took no time of its own in either run cannot have grown.
        let own = |row: &Vec<Cell>, i: usize| matches!(row.get(i), Some(Cell::Seconds(s)) if *s > 0.0);
        view.rows.retain(|row| own(row, OWN) || own(row, BASE));
        view.arrange(None, MOST_ROWS).unwrap_or_default()
    };
    let titles = match &compared {
        Some(base) => {
            let [one, other] = [&base, &&now].map(|o| o.traced.count());
            vec![("self_s", format!("self, {other}")), ("base_s", format!("self, {one}"))]
        }
        None => Vec::new(),
    };
    let within = |row: &[Cell]| {
        compared.as_ref().is_some_and(|base| is_noise(row, seconds_per_sample(&now), seconds_per_sample(base)))
    };
    let own = Own { titles: &titles, faint: Some(&within) };
    let (by_function, by_line) = (of(functions(&now, base, Pick::default())), of(lines(&now, base, Pick::default())));
    m.raw("<h3>Functions</h3>\n");
    tables::table(&by_function, &own, &mut m);
    if !by_line.rows.is_empty() {
        m.raw("<h3>Source lines</h3>\n");
        tables::table(&by_line, &own, &mut m);
        m.p("note", "A line has the time of the system calls that it makes; functions do not.");
    }
    if by_function.rows.iter().chain(&by_line.rows).any(|row| within(row)) {
        m.p("note", "Grey: the change lies within the error of sampling (95 %), and may be chance.");
    }
    Some(m.into_html())
}

/// True for a row whose growth may come from sampling alone. `each`, `each_base`: seconds that one sample stands for.
fn is_noise(row: &[Cell], each: f64, each_base: f64) -> bool {
    let seconds = |i: usize| if let Some(Cell::Seconds(s)) = row.get(i) { *s } else { 0.0 };
    let sampled = |i, each| SampledSeconds { seconds: seconds(i), each };
    !differ(sampled(OWN, each), sampled(BASE, each_base))
}
