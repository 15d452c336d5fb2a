//! The account: where the processors' time went, one column per thread count.

use super::page::Page;
use super::style::Tone;
use super::table::{Lean, Table};
use crate::requests;
use crate::words::{self, Scale};
use analyze::answer::{Account, Answer, CauseId};
use recording::meta::Counted;
use std::io;

/// Thread counts side by side on one screen.
const MOST_COUNTS: usize = 3;
/// Named losses shown; the smaller ones are summed, so that the column still adds up.
const MOST_LINES: usize = 6;
/// The same, when the whole would not fit the screen.
const MOST_LINES_BRIEF: usize = 3;
/// When capacities differ by more than this factor, each column has its own unit: nobody reads six digits at a glance.
const MOST_APART: f64 = 100.0;
/// An estimate whose 95 % interval (two standard errors) is wider than this share of it is marked.
const LOOSE: f64 = 0.1;

pub(super) fn render(answer: &Answer, page: &mut Page<'_>) -> io::Result<()> {
    if answer.account.is_empty() {
        return Ok(());
    }
    let accounts = choose(answer);
    let mut beside = format!("processor-time per {}", words::unit_of_work(answer));
    if accounts.iter().any(|a| a.lines.iter().any(is_loose)) {
        beside += "; ~ few samples";
    }
    if accounts.len() < answer.account.len() {
        beside += &format!("; {} of {} counts", accounts.len(), answer.account.len());
    }
    page.title("Where the time went", &beside)?;
    let most = if page.brief { MOST_LINES_BRIEF } else { MOST_LINES };
    page.table(&table(answer.counted, &accounts, most))?;
    requests::lines(answer, page.brief).iter().try_for_each(|line| page.paragraph("", Tone::Plain, line))
}

/// The smallest and the largest count, and between them those that the verdict is about.
fn choose(answer: &Answer) -> Vec<&Account> {
    let all: Vec<&Account> = answer.account.iter().collect();
    if all.len() <= MOST_COUNTS {
        return all;
    }
    let mut wanted = vec![0, all.len() - 1];
    let spoken_of = answer.verdict.causes.iter().map(|c| c.threads).chain(answer.knee_at);
    let places = spoken_of.filter_map(|threads| all.iter().position(|a| a.threads == threads));
    for place in places.chain(1..all.len()) {
        if wanted.len() < MOST_COUNTS && !wanted.contains(&place) {
            wanted.push(place);
        }
    }
    wanted.sort_unstable();
    wanted.into_iter().filter_map(|i| all.get(i).copied()).collect()
}

fn table(counted: Counted, accounts: &[&Account], most: usize) -> Table {
    let mut table = Table::default();
    table.column("", Lean::Left, 0);
    for account in accounts {
        table.column(counted.many(account.threads), Lean::Right, 0);
    }
    let scale = common_scale(accounts);
    let cell = |account: &Account, seconds: f64| cell(account, seconds, scale);
    let named = names(accounts);
    let (shown, rest) = named.split_at(named.len().min(most));
    let row = |of: &dyn Fn(&Account) -> Option<String>| {
        accounts.iter().map(|a| of(a).unwrap_or_else(|| "–".to_owned())).collect()
    };
    let labelled = |label: &str, mut cells: Vec<String>| {
        cells.insert(0, label.to_owned());
        cells
    };
    table.row(Tone::Plain, labelled("useful work", row(&|a| Some(cell(a, a.useful)))));
    for name in shown {
        let cells = row(&|a| {
            let mine: Vec<_> = a.lines.iter().filter(|l| (l.cause, l.what.as_str()) == *name).collect();
            let mark = if mine.iter().any(|l| is_loose(l)) { "~" } else { "" };
            (!mine.is_empty()).then(|| format!("{mark}{}", cell(a, mine.iter().map(|l| l.seconds).sum())))
        });
        table.row(Tone::Plain, labelled(name.1, cells));
    }
    if !rest.is_empty() {
        let label = words::plural(rest.len() as u64, "smaller row");
        let of_rest = |a: &Account| -> f64 {
            a.lines.iter().filter(|l| rest.contains(&(l.cause, &l.what))).map(|l| l.seconds).sum()
        };
        table.row(Tone::Plain, labelled(&label, row(&|a| Some(cell(a, of_rest(a))))));
    }
    table.row(Tone::Plain, labelled("unexplained", row(&|a| Some(cell(a, a.unexplained)))));
    table.row(Tone::Strong, labelled("= capacity", row(&|a| Some(cell(a, a.capacity)))));
    table
}

/// The name of every line once, ordered by its largest loss in any column.
fn names<'a>(accounts: &[&'a Account]) -> Vec<(CauseId, &'a str)> {
    let mut named: Vec<((CauseId, &str), f64)> = Vec::new();
    for line in accounts.iter().flat_map(|a| &a.lines) {
        let name = (line.cause, line.what.as_str());
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, largest)) => *largest = largest.max(line.seconds.abs()),
            None => named.push((name, line.seconds.abs())),
        }
    }
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    named.into_iter().map(|(name, _)| name).collect()
}

fn is_loose(line: &analyze::answer::Line) -> bool {
    2.0 * line.sampling_error > LOOSE * line.seconds.abs()
}

/// One unit for all columns, that of the smallest, so that the same work is the same number in each; none when the
/// largest would be illegible in it.
fn common_scale(accounts: &[&Account]) -> Option<Scale> {
    let capacities = || accounts.iter().map(|a| a.capacity).filter(|c| *c > 0.0);
    let (least, most) = capacities().fold((f64::INFINITY, 0.0_f64), |(a, b), c| (a.min(c), b.max(c)));
    (most < MOST_APART * least).then(|| Scale::time(least))
}

/// Seconds and share of the capacity. A column has one unit and one number of decimals, so that the eye can add.
fn cell(account: &Account, seconds: f64, scale: Option<Scale>) -> String {
    let scale = scale.unwrap_or_else(|| Scale::time(account.capacity));
    let decimals = scale.decimals(account.capacity, 3);
    let share = if account.capacity > 0.0 { seconds / account.capacity } else { 0.0 };
    format!("{} {:>6}", scale.fixed(seconds, decimals), words::percent(share))
}
