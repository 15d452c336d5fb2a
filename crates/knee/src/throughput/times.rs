//! The time that a program prints of its measured part: `time=2.41 s`, `elapsed_ms: 115`, `3200 records in 2.5 s`.
//!
//! Most small programs print a time and no rate, and they leave out what comes before: a runtime's start, generated input,
//! a warm-up. A time is used only where no rate is, if each run printed exactly one and it can be a part of the run.

use recording::meta::Throughput;
use regex::bytes::Regex;

/// A number with a decimal point or without; the minutes before it as Go prints them: `1m2.5s`.
const NUMBER: &str = r"(?:(?P<minutes>[0-9]+)m)?(?P<number>[0-9]+(?:\.[0-9]+)?)";
/// What must come before a number that no name introduces: the begin of the line or of a clause.
const CLAUSE: &str = r"(?:^\s*|[,;|(\[)\]]\s*|\b(?:done|finished|completed)[:,]?\s+)";
const UNIT: &str = r"(?P<unit>s|secs?|seconds?|ms|msecs?|millis|milliseconds?|(?:u|\xC2\xB5|\xCE\xBC)s|usecs?|micros|microseconds?|ns|nsecs?|nanos|nanoseconds?)";
/// Names that are units themselves, alone or at the end of a longer name: `seconds=`, `search_ms=`.
const UNIT_NAME: &str =
    r"(?:[a-z][a-z0-9]*[_-])*(?P<unit>seconds|secs?|milliseconds|millis|msecs?|ms|microseconds|micros|usecs?)";
/// Names of a time, whatever stands before in the same word: `elapsed`, `search_time`, `runTime`.
const NAME: &str = r"(?:[a-z][a-z0-9_-]*)?(?:time|elapsed|wall(?:[ _-]?clock)?|duration|took|makespan)";

/// Words that, in its name or right before it, make a time that of something else: `load time`, `cpu_time`, `mean time`.
const OF_ELSE: [&str; 37] = [
    "load", "loading", "init", "initial", "begin", "setup", "start", "startup", "start-up", "warm", "warmup",
    "warm-up", "up", "read", "reading", "build", "building", "parse", "parsing", "compile", "cpu", "user", "sys",
    "system", "mean", "avg", "average", "min", "max", "median", "idle", "wait", "waiting", "gc", "pause", "response",
    "latency",
];

/// Words that mark a line's rate as that of one thread or core, not of the whole program.
const OF_ONE: [&str; 10] = [
    "per thread",
    "per-thread",
    "/thread",
    "each thread",
    "per worker",
    "per-worker",
    "/worker",
    "per core",
    "per-core",
    "/core",
];

/// A run's time must be at least this share of the run at the smallest count.
///
/// Decides: whether a time that the program prints can be that of its measured part, rather than of one step.
/// From: chosen; 80 programs (C, C++, Rust, Go, Java, Python, Node.js, .NET; by authors who knew nothing of this rule) each
/// printed one time, of at least 46 % of their run with two threads.
/// Shown by: `a_time_that_cannot_be_the_measured_part_is_not_used`.
/// Wrong if: a program prints the time of one step only, and the step takes longer than a quarter of the run.
const LEAST: f64 = 0.25;

/// A run's time may exceed the run by this share: rounding, and two clocks.
///
/// Decides: whether a printed time is one of the threads together, or in a simulated world, and not of the run.
/// From: arithmetic: as coarse as a number may be printed ([`COARSEST`]).
/// Shown by: `a_time_that_cannot_be_the_measured_part_is_not_used`.
/// Wrong if: the clocks of the program and of the machine differ by more.
const LONGER: f64 = COARSEST;

/// The last digit may be worth this share of a printed time.
///
/// Decides: whether a printed time is exact enough to compare runs by it.
/// From: arithmetic: less than half of what a loss must be to be called one (5 %).
/// Shown by: `a_coarse_time_is_not_used`.
/// Wrong if: never; a time that is printed more coarsely is left to the wall clock.
const COARSEST: f64 = 0.02;

/// The time must leave out this share of some run.
///
/// Decides: whether a printed time is used at all: where it is the whole run, the wall clock tells the same.
/// From: the share that a loss must be to be called one.
/// Shown by: `a_time_of_the_whole_run_tells_nothing_new`.
/// Wrong if: never; both readings differ by less than what is told.
const LEFT_OUT: f64 = 0.05;

/// Two times of a run that differ by less than this share are the same one, rounded differently.
///
/// Decides: whether a program that prints its time in two ways has one time.
/// From: arithmetic: as coarse as a number may be printed ([`COARSEST`]).
/// Shown by: `of_several_times_none_is_guessed`.
/// Wrong if: a program prints two different times that are that near: either will do.
const SAME: f64 = COARSEST;

/// One form of printing a time.
#[derive(Debug)]
pub(crate) struct TimeForm {
    pub(super) regex: Regex,
    /// True when the output itself calls it a time.
    named: bool,
}

/// A time that a run printed, as it stands there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PrintedTime {
    number: f64,
    minutes: f64,
    /// What the last digit is worth, in the unit of the number.
    step: f64,
    /// Seconds in one of its unit; none where the output names no unit.
    unit: Option<f64>,
}

/// What a form found in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TimeMatch {
    /// How many times it matched.
    pub(crate) count: u64,
    /// The last match.
    pub(crate) last: Option<PrintedTime>,
}

/// The forms, best first.
///
/// # Errors
/// When a form is not a regular expression, which the tests rule out.
pub(super) fn forms() -> Result<Vec<TimeForm>, String> {
    let form = |pattern: String, named| {
        let regex = Regex::new(&format!("(?i-u){pattern}")).map_err(|error| error.to_string())?;
        Ok::<TimeForm, String>(TimeForm { regex, named })
    };
    let end = r"(?:[^/A-Za-z0-9%]|$)";
    let is = r#"["']?\s*[=:]\s*"#;
    Ok(vec![
        // runTime(ms)=115; elapsed_ms: 115; "wall_s": 2.4
        form(format!(r"\b(?P<name>{NAME})[ _]?[(\[]?{UNIT}[)\]]?{is}{NUMBER}{end}"), true)?,
        // seconds=3.396; search_ms: 115
        form(format!(r"\b(?P<name>{UNIT_NAME}){is}{NUMBER}{end}"), true)?,
        // time=2.407s; elapsed: 2.4 sec; took 115 ms; wall time = 2.41
        form(format!(r"\b(?P<name>{NAME})(?:{is}|\s+(?:was\s+|is\s+|of\s+)?){NUMBER}\s?{UNIT}{end}"), true)?,
        form(format!(r"\b(?P<name>{NAME}){is}{NUMBER}(?:[,;)}}]|\s*$|\s+[a-z_][a-z_0-9().]*\s*[=:])"), true)?,
        // 1344000 entries in 2.532 s
        form(format!(r"\b(?:in|after)\s+{NUMBER}\s?{UNIT}{end}"), false)?,
        // 3300 records, 2.538 s
        form(format!(r"{CLAUSE}{NUMBER}\s?{UNIT}[).,;}}\]]*\s*$"), false)?,
    ])
}

impl TimeForm {
    /// All times that a line holds in this form.
    pub(super) fn matches(&self, line: &[u8]) -> Vec<PrintedTime> {
        if of_one(line) {
            return Vec::new();
        }
        let found = self.regex.captures_iter(line).filter_map(|captures| {
            let before = captures.name("name").and_then(|name| Some((line.get(..name.start())?, name.as_bytes())));
            if before.is_some_and(|(before, name)| is_of_else(before, name)) {
                return None;
            }
            let text = |name| captures.name(name).map(|m| String::from_utf8_lossy(m.as_bytes()));
            let number = text("number")?;
            let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(30));
            Some(PrintedTime {
                minutes: text("minutes").and_then(|m| m.parse().ok()).unwrap_or(0.0),
                step: 0.1_f64.powi(decimals as i32),
                unit: text("unit").map(|unit| seconds_in(&unit)),
                number: number.parse().ok()?,
            })
        });
        found.collect()
    }
}

/// True where a line says that its numbers are those of one thread or core.
pub(super) fn of_one(line: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(line).to_ascii_lowercase();
    OF_ONE.iter().any(|words| lower.contains(words))
}

/// True where a name, or the last word before it, makes a time that of something else.
fn is_of_else(before: &[u8], name: &[u8]) -> bool {
    let before = String::from_utf8_lossy(before);
    let last = before.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default();
    let mut words = String::new();
    for c in String::from_utf8_lossy(name).chars() {
        // searchTime: two words.
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    let of_else =
        |word: &str| OF_ELSE.contains(&word) || word.strip_prefix('p').is_some_and(|rest| rest.parse::<u32>().is_ok());
    of_else(&last.to_ascii_lowercase()) || words.split([' ', '_', '-']).any(of_else)
}

fn seconds_in(unit: &str) -> f64 {
    match unit.to_ascii_lowercase().as_bytes() {
        [b'm', ..] if !unit.to_ascii_lowercase().starts_with("mic") => 1e-3,
        [b's', ..] => 1.0,
        [b'n', ..] => 1e-9,
        _ => 1e-6,
    }
}

impl PrintedTime {
    /// Seconds, for a run that took so many. Where the output names no unit, the one that fits the run is taken: they lie
    /// so far apart that no other does.
    fn seconds(self, wall: f64) -> Option<f64> {
        let fits = |unit: &f64| {
            let seconds = self.minutes * 60.0 + self.number * unit;
            (seconds.is_finite() && seconds > 0.0 && seconds <= wall * (1.0 + LONGER)).then_some((seconds, *unit))
        };
        let found = match self.unit {
            Some(unit) => fits(&unit),
            None => [1.0, 1e-3, 1e-6, 1e-9].iter().find_map(fits),
        };
        found.filter(|(seconds, unit)| self.step * unit <= COARSEST * seconds).map(|(seconds, _)| seconds)
    }
}

/// The seconds that a run printed in this form, if it printed exactly one time. `found`: what every form found.
pub(super) fn printed(found: &[TimeMatch], form: usize, wall: f64) -> Option<f64> {
    let found = found.get(form).filter(|found| found.count == 1)?;
    found.last?.seconds(wall)
}

/// The form that all runs fit, and what is recorded about it. `runs`: what every form found in each, its count, and its
/// wall time in seconds.
pub(super) fn choose(forms: &[TimeForm], runs: &[(&[TimeMatch], u32, f64)]) -> Option<(usize, Throughput)> {
    let base = runs.iter().map(|(_, count, _)| *count).min()?;
    let of =
        |form: usize| runs.iter().map(move |(found, _, wall)| printed(found, form, *wall)).collect::<Option<Vec<_>>>();
    let can_be = |times: &[f64]| {
        let long = |((_, count, wall), time): (&(&[TimeMatch], u32, f64), &f64)| *count > base || *time >= LEAST * wall;
        // A measured time is never exactly the same twice.
        times.windows(2).any(|pair| pair[0] != pair[1]) && runs.iter().zip(times).all(long)
    };
    let fitting: Vec<(usize, Vec<f64>)> =
        (0..forms.len()).filter_map(|form| Some((form, of(form)?))).filter(|(_, times)| can_be(times)).collect();
    let named = fitting.iter().any(|(form, _)| forms.get(*form).is_some_and(|form| form.named));
    let mut candidates =
        fitting.into_iter().filter(|(form, _)| forms.get(*form).is_some_and(|form| form.named == named));
    let (form, times) = candidates.next()?;
    let same = |other: &Vec<f64>| times.iter().zip(other).all(|(a, b)| (a - b).abs() <= SAME * a.max(*b));
    let leaves_out = runs.iter().zip(&times).any(|((_, _, wall), time)| *time < (1.0 - LEFT_OUT) * wall);
    if !leaves_out || !candidates.all(|(_, other)| same(&other)) {
        return None;
    }
    let pattern = forms.get(form)?.regex.as_str().to_owned();
    Some((form, Throughput { pattern, unit: "runs/s".to_owned(), given: false, times: true }))
}

#[cfg(test)]
mod tests {
    use crate::throughput::{Forms, Found, Scanner, choose_for_runs};

    fn scan(forms: &Forms, output: &str) -> Found {
        let mut scanner = Scanner::new(forms);
        scanner.bytes(0, output.as_bytes());
        scanner.finish()
    }

    /// The seconds that knee takes from the outputs of two runs, of one thread and of two; `walls`: their lengths.
    fn seconds(outputs: [&str; 2], walls: [f64; 2]) -> Option<[f64; 2]> {
        let forms = Forms::common().unwrap();
        let found = outputs.map(|output| scan(&forms, output));
        let runs = [(found[0].clone(), 1, walls[0]), (found[1].clone(), 2, walls[1])];
        let (chosen, _) = choose_for_runs(&forms, &runs);
        let chosen = chosen.filter(|chosen| chosen.throughput.times)?;
        let value = |run: usize| chosen.value(&found[run], walls[run]).map(|rate| 1.0 / rate);
        Some([value(0)?, value(1)?])
    }

    #[test]
    fn times_are_recognised() {
        for (one, two) in [
            ("users=6000 errors=24535 time=2.407s", "users=6000 errors=24535 time=1.30s"),
            ("html=102932492 headings=568 time=2.407 s", "html=102932492 headings=568 time=1.30 s"),
            ("alerts=15283 seconds=2.407", "alerts=15283 seconds=1.30"),
            ("mails 6400 none=272 time 2.407 s", "mails 6400 none=272 time 1.30 s"),
            ("4000 pages, 3125 hits, 2.407 s", "4000 pages, 3125 hits, 1.30 s"),
            ("6720 statements, 87694152 bytes in 2.407 s", "6720 statements, 87694152 bytes in 1.30 s"),
            ("runTime(ms)=2407", "runTime(ms)=1300"),
            ("elapsed_ms: 2407.0", "elapsed_ms: 1300.0"),
            ("{\"sum\": 12, \"elapsedMs\": 2407}", "{\"sum\": 12, \"elapsedMs\": 1300}"),
            ("\"wall_s\":2.407,", "\"wall_s\":1.300,"),
            ("Elapsed: 2.407", "Elapsed: 1.300"),
            ("elapsed=2407 sum=3", "elapsed=1300 sum=3"),
            ("total time = 2407000 us", "total time = 1300000 us"),
            ("took 2407.01ms", "took 1300.00ms"),
            ("Duration: 0m2.407s", "Duration: 0m1.300s"),
            ("done (2407 ms)", "done (1300 ms)"),
            // The time of one step stands beside it, as does that of a request.
            ("load time: 0.31 s\nthreads=1 time=2.407 s", "load time: 0.33 s\nthreads=2 time=1.30 s"),
            ("25 events, p95 load 1873 ms, 2.407 s", "25 events, p95 load 973 ms, 1.30 s"),
            ("longest=5435s peak_hour=69 time=2.407 s", "longest=5435s peak_hour=69 time=1.30 s"),
            ("search_ms=2407 hits=12", "search_ms=1300 hits=12"),
            ("renderTime: 2.407 s", "renderTime: 1.300 s"),
            ("cpu time: 2.2 s, elapsed time: 2.407 s", "cpu time: 2.3 s, elapsed time: 1.30 s"),
        ] {
            let found = seconds([one, two], [3.0, 1.9]).unwrap_or_else(|| panic!("{one}"));
            assert!((found[0] - 2.407).abs() < 1e-4 && (found[1] - 1.3).abs() < 1e-9, "{one}: {found:?}");
        }
    }

    #[test]
    fn a_rate_wins() {
        let outputs = ["7200 frames, time 2.407 s (3598 frames/s)", "7200 frames, time 1.3 s (5598 frames/s)"];
        assert_eq!(seconds(outputs, [3.0, 1.9]), None);
    }

    #[test]
    fn a_time_that_cannot_be_the_measured_part_is_not_used() {
        for (one, two, why) in [
            ("time=0.507 s", "time=0.300 s", "a step of the program"),
            ("time=2.407 s", "time=2.507 s", "the threads' times together"),
            ("time=9.000 s", "time=1.300 s", "a simulated time"),
            ("time=2.407 s", "", "printed by one run alone"),
            ("time=1.407 s", "time=1.407 s", "a limit"),
            ("mean time 1.407 s", "mean time 1.300 s", "of one request"),
            ("avgTime=1.407 s", "avgTime=1.300 s", "a mean"),
            ("p99_ms=1407", "p99_ms=1300", "a quantile"),
            ("12 1.407 s", "12 1.300 s", "of nobody knows what"),
            ("warmup_time=1.407 s", "warmup_time=1.300 s", "of the warm-up"),
            ("1.407 s/op", "1.300 s/op", "of one operation"),
            ("1.407 s per thread", "1.300 s per thread", "of one thread"),
            ("round 1: time=1.407 s\nround 2: time=1.5 s", "round 1: time=1.1 s\nround 2: time=1.2 s", "of rounds"),
        ] {
            assert_eq!(seconds([one, two], [3.0, 1.9]), None, "{why}");
        }
    }

    #[test]
    fn a_coarse_time_is_not_used() {
        assert_eq!(seconds(["time=2 s", "time=1 s"], [3.0, 1.9]), None);
        assert_eq!(seconds(["time=2.4 s", "time=1.3 s"], [3.0, 1.9]), None);
        assert_eq!(seconds(["time=2.4 s", "time=1.30 s"], [3.0, 1.9]), None);
        assert!(seconds(["time=2.41 s", "time=1.31 s"], [3.0, 1.9]).is_some());
    }

    #[test]
    fn a_time_of_the_whole_run_tells_nothing_new() {
        assert_eq!(seconds(["time=2.95 s", "time=1.85 s"], [3.0, 1.9]), None);
        assert!(seconds(["time=2.95 s", "time=1.75 s"], [3.0, 1.9]).is_some());
    }

    #[test]
    fn of_several_times_none_is_guessed() {
        let two = |a: &str, b: &str| seconds([a, b], [3.0, 1.9]);
        assert_eq!(two("insert_time=1.207 s\nquery_seconds: 1.11", "insert_time=0.607 s\nquery_seconds: 0.61"), None);
        assert_eq!(two("read in 0.807 s\n1.407 s", "read in 0.817 s\n0.707 s"), None);
        assert_eq!(two("total time=2.407 s\nseconds=1.11", "total time=1.307 s\nseconds=0.61"), None);
        assert!(two("time=2.407 s\nseconds=2.41", "time=1.307 s\nseconds=1.31").is_some());
    }
}
