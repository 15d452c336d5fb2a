//! The account as stacked bars, and as a table.

use super::answer::{title, work};
use super::chart::{Axis, ticks};
use super::markup::Markup;
use crate::requests;
use crate::words::{self, Scale};
use analyze::answer::{Account, Answer, CauseId};
use std::collections::BTreeSet;

const HEIGHT: f64 = 320.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 16.0;
/// Width of a bar and the space beside it.
const SLOT: f64 = 92.0;
const BAR: f64 = 60.0;
/// A piece lower than this has no room for its percentage.
const LEAST_LABEL: f64 = 15.0;

/// When a bar's height differs from the capacity by less than this share of the drawing, the eye sees no difference.
const SEEN: f64 = 0.01;

/// A piece with less than this share of the drawing's height cannot be seen: half a pixel.
const LEAST_SEEN: f64 = 0.002;

/// Lines below this share of the capacity at every count are folded: they would only say `<1 %`.
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
            "All the processor time that each {} could have used: useful work at the bottom, above it what was lost and to what.{}",
            work(answer),
            unit_of_work(answer).map_or(String::new(), |unit| format!(" A unit of work is {unit}."))
        ),
    );
    m.raw("<div class=\"account\">\n");
    drawing(answer, &mut m);
    legend(answer, &mut m);
    m.raw("</div>\n");
    table(answer, &mut m);
    for line in requests::lines(answer, false) {
        m.p("note", &line);
    }
    notes(answer, &mut m);
    Some(m.into_html())
}

/// One unit of what the program says that it does per second: for `requests/s`, `one request`.
fn unit_of_work(answer: &Answer) -> Option<String> {
    let throughput = answer.throughput.as_ref().filter(|throughput| throughput.counts_work())?;
    let named = throughput.unit.strip_suffix("/s").is_some_and(|unit| !unit.is_empty());
    named.then(|| format!("one {} of what the program counts", words::unit_of_work(answer)))
}

/// Explains numbers that would surprise the reader.
fn notes(answer: &Answer, m: &mut Markup) {
    if exceeds(answer) {
        m.p(
            "note",
            "A piece is the sum of a cause's lines. What sums to less than zero has no height in the picture, so that the \
             rest of a bar may reach above the capacity, which is all that there was.",
        );
    }
    let too_much = |a: &&Account| a.unexplained < -SMALL * a.capacity;
    let counts: Vec<String> = answer.account.iter().filter(too_much).map(|a| a.threads.to_string()).collect();
    if let Some((last, others)) = counts.split_last() {
        let which = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        let threads = if which == "1" { "thread" } else { "threads" };
        m.p(
            "note",
            &format!(
                "With {which} {threads} the rest that is unexplained is below zero: the parts were measured to be more than \
                 there was, because some of them overlap or because the traced run differs from the timed ones."
            ),
        );
    }
}

/// Whether a bar visibly reaches above its capacity or ends below it.
fn exceeds(answer: &Answer) -> bool {
    let (high, order) = (highest(answer), names(answer));
    answer.account.iter().any(|a| (tall(a, &order) - a.capacity).abs() > SEEN * high)
}

/// The causes of an account, in this order, each with the sum of its lines.
fn sums(account: &Account, order: &[(CauseId, &str)]) -> Vec<(CauseId, f64)> {
    let mut sums: Vec<(CauseId, f64)> = Vec::new();
    for (cause, _) in order {
        if !sums.iter().any(|(known, _)| known == cause) {
            let lines = account.lines.iter().filter(|l| l.cause == *cause);
            sums.push((*cause, lines.map(|l| l.seconds).sum()));
        }
    }
    sums
}

fn tall(account: &Account, order: &[(CauseId, &str)]) -> f64 {
    let lost = sums(account, order).into_iter().map(|(_, seconds)| seconds.max(0.0)).sum::<f64>();
    account.useful + lost + account.unexplained.max(0.0)
}

fn highest(answer: &Answer) -> f64 {
    let order = names(answer);
    answer.account.iter().map(|a| tall(a, &order).max(a.capacity)).fold(0.0, f64::max)
}

/// From the bottom up, one piece per cause; gains (causes below zero) have no height and appear only in the table.
fn pieces(account: &Account, order: &[(CauseId, &str)]) -> Vec<Piece> {
    let mut pieces = vec![Piece {
        class: "useful".to_owned(),
        what: "useful work".to_owned(),
        seconds: account.useful,
        cause: None,
    }];
    for (cause, seconds) in sums(account, order).into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        pieces.push(Piece {
            class: format!("c-{}", cause.name()),
            what: title(cause).to_owned(),
            seconds,
            cause: Some(cause),
        });
    }
    if account.unexplained > 0.0 {
        let what = "unexplained".to_owned();
        pieces.push(Piece { class: "unexplained".to_owned(), what, seconds: account.unexplained, cause: None });
    }
    pieces
}

fn drawing(answer: &Answer, m: &mut Markup) {
    let high = highest(answer);
    let order = names(answer);
    let width = LEFT + SLOT * answer.account.len() as f64 + 10.0;
    // The top grid line lies above the bars.
    let below = ticks(high, 5.0);
    let step = below.get(1).copied().unwrap_or(high);
    let whole = if step > 0.0 { (high / step - 1e-6).ceil() * step } else { high };
    let y = Axis::new((0.0, whole), (HEIGHT - BOTTOM, TOP), false);
    let causes: BTreeSet<CauseId> = answer.verdict.causes.iter().map(|c| c.id).collect();
    m.raw(&format!("<figure class=\"bars\"><svg class=\"chart\" width=\"{width}\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"Processor time by {} count; the table below has the numbers\">\n", answer.counted.word()));
    m.raw("<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"hatch-ground\" width=\"6\" height=\"6\"/><line class=\"hatch-line\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"6\"/></pattern></defs>\n");
    // One unit for the whole axis.
    let scale = Scale::time(whole);
    let decimals = scale.decimals_of_step(step);
    for tick in ticks(whole, 5.0) {
        let at = y.at(tick);
        let label = if tick == 0.0 { "0".to_owned() } else { scale.fixed(tick, decimals) };
        m.raw(&format!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{width}\" y1=\"{at}\" y2=\"{at}\"/>"));
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>\n",
            LEFT - 8.0,
            at + 4.0
        ));
    }
    let marked = exceeds(answer);
    for (i, account) in answer.account.iter().enumerate() {
        let left = LEFT + SLOT * i as f64 + (SLOT - BAR) / 2.0;
        let mut below = 0.0;
        for piece in pieces(account, &order) {
            let (from, to) = (y.at(below), y.at(below + piece.seconds));
            below += piece.seconds;
            let height = ((from - to) * 100.0).round() / 100.0;
            if height < 0.05 {
                continue;
            }
            let link = piece.cause.filter(|c| causes.contains(c));
            if let Some(cause) = link {
                m.raw(&format!("<a href=\"#cause-{}\">", cause.name()));
            }
            // In a piece that is hardly higher than its frame, the frame would be most of what is seen.
            let thin = if height < 4.0 { " thin" } else { "" };
            m.raw(&format!(
                "<rect class=\"piece {}{thin}\" x=\"{left}\" y=\"{to}\" width=\"{BAR}\" height=\"{height}\"><title>",
                piece.class
            ));
            let share = piece.seconds / account.capacity;
            m.text(&format!("{}: {}, {}", piece.what, words::time(piece.seconds), words::percent(share)));
            m.raw("</title></rect>");
            if height >= LEAST_LABEL {
                let middle = left + BAR / 2.0;
                let centre = to + height / 2.0;
                // Moves the words where the line of the capacity would cross them.
                let line =
                    Some(y.at(account.capacity)).filter(|at| marked && (centre - at).abs() < LEAST_LABEL / 2.0 + 1.0);
                let centre = match line {
                    Some(at) if to + height - at > LEAST_LABEL => at + LEAST_LABEL / 2.0 + 2.0,
                    Some(at) => at - LEAST_LABEL / 2.0 - 2.0,
                    None => centre,
                };
                let class = if piece.class == "unexplained" { "share on-hatch" } else { "share" };
                m.raw(&format!(
                    "<text class=\"{class}\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">",
                    (centre + 4.0).round()
                ));
                m.text(&words::percent(share)).raw("</text>");
            }
            if link.is_some() {
                m.raw("</a>");
            }
            m.raw("\n");
        }
        if marked {
            let at = y.at(account.capacity);
            m.raw(&format!(
                "<line class=\"capacity\" x1=\"{}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\"><title>",
                left - 6.0,
                left + BAR + 6.0
            ));
            m.text(&format!("capacity: {}", words::time(account.capacity))).raw("</title></line>\n");
        }
        m.raw(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">",
            left + BAR / 2.0,
            HEIGHT - BOTTOM + 18.0
        ));
        m.text(&answer.counted.many(account.threads)).raw("</text>\n");
    }
    m.raw("</svg></figure>\n");
}

/// Every line's name of any count once: lines of the same cause together, the largest first.
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
    let first = |cause: CauseId| named.iter().position(|(key, _)| key.0 == cause);
    let mut order: Vec<(CauseId, &str)> = named.iter().map(|n| n.0).collect();
    order.sort_by_key(|key| first(key.0));
    order
}

/// From the top of the bars to their bottom.
fn legend(answer: &Answer, m: &mut Markup) {
    let causes: BTreeSet<CauseId> = answer.verdict.causes.iter().map(|c| c.id).collect();
    let least = LEAST_SEEN * highest(answer);
    let order = names(answer);
    let seen = |a: &Account, cause: CauseId| sums(a, &order).iter().any(|(id, s)| *id == cause && *s > least);
    let drawn = |cause: CauseId| answer.account.iter().any(|a| seen(a, cause));
    let mut kinds: Vec<CauseId> = order.iter().map(|n| n.0).filter(|cause| drawn(*cause)).collect();
    kinds.dedup();
    m.raw("<ul class=\"legend causes\">");
    if exceeds(answer) {
        m.raw("<li><span class=\"key key-capacity\"></span>capacity</li>");
    }
    m.raw("<li><span class=\"swatch unexplained\"></span>unexplained</li>");
    for cause in kinds.into_iter().rev() {
        m.raw(&format!("<li><span class=\"swatch c-{}\"></span>", cause.name()));
        if causes.contains(&cause) {
            m.raw(&format!("<a href=\"#cause-{}\">", cause.name())).text(title(cause)).raw("</a>");
        } else {
            m.text(title(cause));
        }
        m.raw("</li>");
    }
    m.raw("<li><span class=\"swatch useful\"></span>useful work</li></ul>\n");
}

/// One unit for all counts, so that they can be compared at a glance.
fn scale(answer: &Answer) -> (Scale, i32) {
    let capacities = || answer.account.iter().map(|a| a.capacity).filter(|c| *c > 0.0);
    let (least, most) = (capacities().fold(f64::INFINITY, f64::min), capacities().fold(0.0, f64::max));
    let least = if least.is_finite() { least } else { 0.0 };
    // The unit of the smallest capacity, unless the largest would have more than five digits in it.
    let of = if most > 1000.0 * least { most } else { least };
    let scale = Scale::time(of);
    (scale, scale.decimals(of, 3))
}

fn table(answer: &Answer, m: &mut Markup) {
    m.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"account\"><table class=\"plain\" id=\"account-lines\"><thead><tr><th scope=\"col\"></th>");
    for account in &answer.account {
        m.raw("<th scope=\"col\" class=\"n\">").text(&answer.counted.many(account.threads)).raw("</th>");
    }
    m.raw("</tr></thead><tbody>\n");
    let (scale, decimals) = scale(answer);
    let mut row = |class: &str, cause: Option<CauseId>, label: &str, of: &dyn Fn(&Account) -> Option<f64>| {
        let small = |a: &Account| of(a).is_none_or(|s| s.abs() < SMALL * a.capacity);
        let tiny = cause.is_some() && answer.account.iter().all(small);
        m.raw(if tiny { "<tr class=\"tiny\"><th scope=\"row\">" } else { "<tr><th scope=\"row\">" });
        m.raw(&format!("<span class=\"swatch {class}\" aria-hidden=\"true\"></span>"));
        if let Some(cause) = cause {
            m.raw("<span class=\"faint\">").text(title(cause)).raw(":</span> ");
        }
        m.text(label).raw("</th>");
        for account in &answer.account {
            let seconds = of(account);
            // A value that is not 0, but too small for the digits shown.
            let nothing = |s: f64| s != 0.0 && s.abs() < scale.smallest(decimals) / 2.0;
            let shown = |s: f64| match s {
                0.0 => "0".to_owned(),
                s if nothing(s) => "≈ 0".to_owned(),
                s => scale.fixed(s, decimals),
            };
            m.raw("<td class=\"n\">").text(&seconds.map_or(String::new(), shown));
            if let Some(seconds) = seconds.filter(|s| account.capacity > 0.0 && *s != 0.0 && !nothing(*s)) {
                m.raw(" <span class=\"faint of-all\">")
                    .text(&words::percent(seconds / account.capacity))
                    .raw("</span>");
            }
            m.raw("</td>");
        }
        m.raw("</tr>\n");
    };
    row("useful", None, "useful work", &|a| Some(a.useful));
    for (cause, what) in names(answer) {
        row(&format!("c-{}", cause.name()), Some(cause), what, &|a| {
            let mine = || a.lines.iter().filter(|l| (l.cause, l.what.as_str()) == (cause, what));
            mine().next().map(|_| mine().map(|l| l.seconds).sum())
        });
    }
    row("unexplained", None, "unexplained", &|a| Some(a.unexplained));
    row("nothing", None, "= capacity", &|a| Some(a.capacity));
    m.raw("</tbody></table></div>\n");
}
