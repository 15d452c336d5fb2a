//! The account as stacked bars, and as a table. May import: `answer`, `chart`, `markup`, `words`.

use super::answer::title;
use super::chart::{Axis, ticks};
use super::markup::Markup;
use crate::words;
use analyze::answer::{Account, Answer, CauseId};
use std::collections::BTreeSet;

const HEIGHT: f64 = 320.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 16.0;
/// Room of one bar with the space beside it.
const SLOT: f64 = 92.0;
const BAR: f64 = 60.0;
/// A piece lower than this has no room for its share in figures.
const LEAST_LABEL: f64 = 15.0;

/// Lines below this share of the capacity at every count are folded: `<1 %` is all that they would say.
const SMALL: f64 = 0.005;

/// One piece of a bar.
struct Piece {
    class: String,
    what: String,
    seconds: f64,
    cause: Option<CauseId>,
}

pub(super) fn section(answer: &Answer) -> Option<String> {
    if answer.account.is_empty() {
        return None;
    }
    let mut m = Markup::default();
    m.p(
        "lead",
        &format!(
            "All the processor time that each {} could have used: useful work at the bottom, above it what was lost and to what.",
            if answer.throughput.is_some() { "unit of work" } else { "run" }
        ),
    );
    m.raw("<div class=\"account\">\n");
    drawing(answer, &mut m);
    legend(answer, &mut m);
    m.raw("</div>\n");
    table(answer, &mut m);
    Some(m.into_html())
}

/// From the bottom up; gains (negative lines) have no height and stand in the table.
fn pieces(account: &Account) -> Vec<Piece> {
    let mut pieces = vec![Piece {
        class: "useful".to_owned(),
        what: "useful work".to_owned(),
        seconds: account.useful,
        cause: None,
    }];
    for line in account.lines.iter().filter(|l| l.seconds > 0.0) {
        pieces.push(Piece {
            class: format!("c-{}", words::cause(line.cause)),
            what: line.what.clone(),
            seconds: line.seconds,
            cause: Some(line.cause),
        });
    }
    if account.unexplained > 0.0 {
        let what = "unexplained".to_owned();
        pieces.push(Piece { class: "unexplained".to_owned(), what, seconds: account.unexplained, cause: None });
    }
    pieces
}

fn drawing(answer: &Answer, m: &mut Markup) {
    let high = answer.account.iter().map(|a| pieces(a).iter().map(|p| p.seconds).sum::<f64>()).fold(0.0, f64::max);
    let width = LEFT + SLOT * answer.account.len() as f64 + 10.0;
    let y = Axis::new((0.0, high * 1.04), (HEIGHT - BOTTOM, TOP), false);
    let causes: BTreeSet<CauseId> = answer.verdict.causes.iter().map(|c| c.id).collect();
    m.raw(&format!("<figure class=\"bars\"><svg class=\"chart\" width=\"{width}\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"Processor time by thread count; the table below has the numbers\">\n"));
    m.raw("<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"hatch-ground\" width=\"6\" height=\"6\"/><line class=\"hatch-line\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"6\"/></pattern></defs>\n");
    for tick in ticks(high, 5.0) {
        let at = y.at(tick);
        let label = if tick == 0.0 { "0".to_owned() } else { words::about(tick) };
        m.raw(&format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{width}\" y1=\"{at}\" y2=\"{at}\"/>"));
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>\n",
            LEFT - 8.0,
            at + 4.0
        ));
    }
    for (i, account) in answer.account.iter().enumerate() {
        let left = LEFT + SLOT * i as f64 + (SLOT - BAR) / 2.0;
        let mut below = 0.0;
        for piece in pieces(account) {
            let (from, to) = (y.at(below), y.at(below + piece.seconds));
            below += piece.seconds;
            let height = ((from - to) * 100.0).round() / 100.0;
            if height < 0.05 {
                continue;
            }
            let link = piece.cause.filter(|c| causes.contains(c));
            if let Some(cause) = link {
                m.raw(&format!("<a href=\"#cause-{}\">", words::cause(cause)));
            }
            m.raw(&format!(
                "<rect class=\"piece {}\" x=\"{left}\" y=\"{to}\" width=\"{BAR}\" height=\"{height}\"><title>",
                piece.class
            ));
            let share = piece.seconds / account.capacity;
            m.text(&format!("{}: {}, {}", piece.what, words::time(piece.seconds), words::percent(share)));
            m.raw("</title></rect>");
            if height >= LEAST_LABEL {
                let middle = left + BAR / 2.0;
                m.raw(&format!(
                    "<text class=\"share\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">",
                    (to + height / 2.0 + 4.0).round()
                ));
                m.text(&words::percent(share)).raw("</text>");
            }
            if link.is_some() {
                m.raw("</a>");
            }
            m.raw("\n");
        }
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">",
            left + BAR / 2.0,
            HEIGHT - BOTTOM + 18.0
        ));
        m.text(&words::plural(account.threads.into(), "thread")).raw("</text>\n");
    }
    m.raw("</svg></figure>\n");
}

/// Every line of any count once, the largest first.
fn names(answer: &Answer) -> Vec<(CauseId, &str)> {
    let mut named: Vec<((CauseId, &str), f64)> = Vec::new();
    for line in answer.account.iter().flat_map(|a| &a.lines) {
        let key = (line.cause, line.what.as_str());
        match named.iter_mut().find(|(known, _)| *known == key) {
            Some((_, largest)) => *largest = largest.max(line.seconds.abs()),
            None => named.push((key, line.seconds.abs())),
        }
    }
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    named.into_iter().map(|n| n.0).collect()
}

fn legend(answer: &Answer, m: &mut Markup) {
    let causes: BTreeSet<CauseId> = answer.verdict.causes.iter().map(|c| c.id).collect();
    let mut seen = BTreeSet::new();
    m.raw("<ul class=\"legend causes\">");
    for (cause, _) in names(answer) {
        if !seen.insert(cause) {
            continue;
        }
        m.raw(&format!("<li><span class=\"swatch c-{}\"></span>", words::cause(cause)));
        if causes.contains(&cause) {
            m.raw(&format!("<a href=\"#cause-{}\">", words::cause(cause))).text(title(cause)).raw("</a>");
        } else {
            m.text(title(cause));
        }
        m.raw("</li>");
    }
    m.raw("<li><span class=\"swatch unexplained\"></span>unexplained</li>");
    m.raw("<li><span class=\"swatch useful\"></span>useful work</li></ul>\n");
}

fn table(answer: &Answer, m: &mut Markup) {
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"account\"><table class=\"plain\" id=\"account-lines\"><thead><tr><th scope=\"col\"></th>");
    for account in &answer.account {
        m.raw("<th scope=\"col\" class=\"n\" colspan=\"2\">")
            .text(&words::plural(account.threads.into(), "thread"))
            .raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    let mut row = |class: &str, label: &str, of: &dyn Fn(&Account) -> Option<f64>| {
        let small = |a: &Account| of(a).is_none_or(|s| s.abs() < SMALL * a.capacity);
        let tiny = class.starts_with("c-") && answer.account.iter().all(small);
        m.raw(if tiny { "<tr class=\"tiny\"><th scope=\"row\">" } else { "<tr><th scope=\"row\">" });
        m.raw(&format!("<span class=\"swatch {class}\" aria-hidden=\"true\"></span>")).text(label).raw("</th>");
        for account in &answer.account {
            let scale = words::Scale::time(account.capacity);
            let decimals = scale.decimals(account.capacity, 3);
            let seconds = of(account);
            m.raw("<td class=\"n\">").text(&seconds.map_or(String::new(), |s| scale.fixed(s, decimals)));
            m.raw("</td><td class=\"n faint\">");
            m.text(
                &seconds
                    .filter(|_| account.capacity > 0.0)
                    .map_or(String::new(), |s| words::percent(s / account.capacity)),
            );
            m.raw("</td>");
        }
        m.raw("</tr>\n");
    };
    row("useful", "useful work", &|a| Some(a.useful));
    for (cause, what) in names(answer) {
        row(&format!("c-{}", words::cause(cause)), what, &|a| {
            let mine = || a.lines.iter().filter(|l| (l.cause, l.what.as_str()) == (cause, what));
            mine().next().map(|_| mine().map(|l| l.seconds).sum())
        });
    }
    row("unexplained", "unexplained", &|a| Some(a.unexplained));
    row("nothing", "= capacity", &|a| Some(a.capacity));
    m.raw("</tbody></table></div>\n");
}
