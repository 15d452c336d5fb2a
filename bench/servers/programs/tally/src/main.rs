//! Tallies which pages of a site are asked for, from the lines of its access logs.
//!
//!     tally guilty|clean
//!
//! The guilty one counts into one map behind a lock, which each line's worker has for all that the line brings. The clean one counts
//! into a map for each worker, and adds these up at the end.

use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;

const LINES: u64 = 450_000;
/// How many pages a line of the log names: the visitor's way through the site.
const STEPS: u64 = 60;

#[derive(Default, Clone)]
struct Page {
    visits: u64,
    entries: u64,
    /// A digest of who came, by which the log's owner tells visitors apart.
    visitors: u64,
}

type Pages = HashMap<String, Page>;

/// The line of the log with this number, as the server would have written it.
fn line(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = format!("visitor={number} way=");
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(PATHS[(state % PATHS.len() as u64) as usize]);
        text.push(' ');
    }
    text
}

const PATHS: [&str; 12] = [
    "/",
    "/about",
    "/basket",
    "/blog",
    "/blog/archive",
    "/contact",
    "/help",
    "/login",
    "/offers",
    "/orders",
    "/search",
    "/terms",
];

/// Counts the pages of a line.
fn count(pages: &mut Pages, line: &str) {
    let Some((visitor, way)) = line.split_once(" way=") else { return };
    for (step, path) in way.split_whitespace().enumerate() {
        let page = pages.entry(path.to_owned()).or_default();
        page.visits += 1;
        page.entries += u64::from(step == 0);
        page.visitors ^= visitor.bytes().fold(step as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    }
}

fn count_shared(pages: &Mutex<Pages>, line: &str) {
    count(&mut pages.lock().expect("no worker panics"), line); // GUILTY
}

fn add(mut sum: Pages, more: Pages) -> Pages {
    for (path, page) in more {
        let into = sum.entry(path).or_default();
        into.visits += page.visits;
        into.entries += page.entries;
        into.visitors ^= page.visitors;
    }
    sum
}

fn main() {
    let pages = match std::env::args().nth(1).as_deref() {
        Some("guilty") => {
            let shared = Mutex::new(Pages::new());
            (0..LINES).into_par_iter().for_each(|number| count_shared(&shared, &line(number)));
            shared.into_inner().expect("no worker panics")
        }
        Some("clean") => {
            let counted = |mut pages: Pages, number| {
                count(&mut pages, &line(number));
                pages
            };
            (0..LINES).into_par_iter().fold(Pages::new, counted).reduce(Pages::new, add)
        }
        _ => {
            eprintln!("usage: tally guilty|clean");
            std::process::exit(2);
        }
    };
    let mut sorted: Vec<_> = pages.into_iter().collect();
    sorted.sort_by_key(|(_, page)| std::cmp::Reverse(page.visits));
    for (path, page) in sorted.iter().take(3) {
        println!("{path} {} visits, {} entries, {:016x}", page.visits, page.entries, page.visitors);
    }
}
