//! Which form a sweep uses; decided after every count has run once.

use super::forms::Forms;
use super::scan::Found;
use super::times::{self, TimeMatch};
use recording::meta::Throughput;

/// Where the numbers of a sweep come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NumberFrom {
    /// The report of a known load.
    Load,
    /// The rate in this form.
    Rate(usize),
    /// The time in this form.
    Time(usize),
}

/// The form that the sweep uses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    source: NumberFrom,
    /// For `meta.json`.
    pub(crate) throughput: Throughput,
}

impl Chosen {
    /// The throughput that a run printed, if it printed it as expected; `wall`: its seconds. The user's pattern may match
    /// several times; then the last match counts, because programs print their result at the end.
    pub(crate) fn value(&self, found: &Found, wall: f64) -> Option<f64> {
        let form = match self.source {
            NumberFrom::Load => return found.load.as_ref().map(|report| report.rate),
            NumberFrom::Time(form) => return times::printed(&found.times, form, wall).map(|seconds| 1.0 / seconds),
            NumberFrom::Rate(form) => form,
        };
        let found = found.forms.get(form)?;
        if found.count == 1 || (self.throughput.given && found.count > 0) { found.value } else { None }
    }
}

/// Chooses a form for a batch program: a rate, or else the time of its measured part. `runs`: what each run printed, its
/// count, and its seconds.
pub(crate) fn choose_for_runs(forms: &Forms, runs: &[(Found, u32, f64)]) -> (Option<Chosen>, Option<String>) {
    let outputs: Vec<Found> = runs.iter().map(|(found, _, _)| found.clone()).collect();
    let (chosen, note) = choose(forms, &outputs);
    if chosen.is_some() || outputs.iter().any(|found| found.load.is_some()) {
        return (chosen, note);
    }
    let runs: Vec<(&[TimeMatch], u32, f64)> =
        runs.iter().map(|(found, count, wall)| (found.times.as_slice(), *count, *wall)).collect();
    match times::choose(&forms.times, &runs) {
        Some((form, throughput)) => (Some(Chosen { source: NumberFrom::Time(form), throughput }), None),
        None => (None, note),
    }
}

/// Chooses a form, and returns what the user should know about the choice.
pub(crate) fn choose(forms: &Forms, runs: &[Found]) -> (Option<Chosen>, Option<String>) {
    if forms.given {
        let most = runs.iter().filter_map(|r| r.forms.first()).map(|m| m.count).max().unwrap_or(0);
        let note = (most > 1)
            .then(|| format!("the throughput pattern matched {most} times in a run; each run's last match is used"));
        return (chosen(forms, 0, "units/s"), note);
    }
    if let Some(known) = known_load(runs) {
        return (Some(known), None);
    }
    let fits = |form: usize| {
        let first = runs.first().and_then(|r| r.forms.get(form)).map(|m| m.unit.as_str());
        let fits = |run: &Found| {
            run.forms.get(form).is_some_and(|m| m.count == 1 && m.value.is_some() && Some(m.unit.as_str()) == first)
        };
        (!runs.is_empty() && runs.iter().all(fits)).then_some((form, first.unwrap_or_default()))
    };
    let number = |run: &Found, form: usize| run.forms.get(form).and_then(|m| m.value);
    let loose = |form: usize| forms.forms.get(form).is_some_and(|f| f.loose);
    let all = || (0..forms.forms.len()).filter_map(fits);
    let mut fitting: Vec<(usize, &str)> = all().filter(|(form, _)| !loose(*form)).collect();
    if fitting.is_empty() {
        // A measured rate is never exactly the same twice. A limit is, and so is a speed in a simulated world.
        let differs =
            |form: usize| runs.iter().any(|run| number(run, form) != runs.first().and_then(|r| number(r, form)));
        fitting = all().filter(|(form, _)| loose(*form) && differs(*form)).collect();
    }
    let Some(&(best, unit)) = fitting.first() else { return (None, None) };
    let same = |form: usize| runs.iter().all(|run| number(run, form) == number(run, best));
    let labelled = forms.forms.get(best).is_some_and(|f| f.labelled);
    if !labelled && !fitting.iter().all(|(form, _)| same(*form)) {
        let units: Vec<&str> = fitting.iter().map(|(_, unit)| *unit).collect();
        let units = units.join(", ");
        let note = format!("the output holds several rates ({units}), so none is used; --throughput REGEX chooses one");
        return (None, Some(note));
    }
    (chosen(forms, best, unit), None)
}

/// The load's own report, if all runs used the same known program.
fn known_load(runs: &[Found]) -> Option<Chosen> {
    let kind = |run: &Found| run.load.as_ref().map(|report| (report.from, report.unit));
    let (from, unit) = runs.first().and_then(kind)?;
    let throughput = Throughput { pattern: from.to_owned(), unit: unit.to_owned(), given: false, times: false };
    runs.iter().all(|run| kind(run) == Some((from, unit))).then_some(Chosen { source: NumberFrom::Load, throughput })
}

fn chosen(forms: &Forms, form: usize, unit: &str) -> Option<Chosen> {
    let pattern = forms.forms.get(form)?.regex.as_str().to_owned();
    let throughput = Throughput { pattern, unit: unit.to_owned(), given: forms.given, times: false };
    Some(Chosen { source: NumberFrom::Rate(form), throughput })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput::Scanner;

    fn scan(forms: &Forms, output: &str) -> Found {
        let mut scanner = Scanner::new(forms);
        // In small pieces, as pipes may deliver.
        for piece in output.as_bytes().chunks(7) {
            scanner.bytes(0, piece);
        }
        scanner.finish()
    }

    /// Unit and values recognised in the outputs of some runs.
    fn recognised(outputs: &[&str]) -> Option<(String, Vec<f64>)> {
        let forms = Forms::common().unwrap();
        let runs: Vec<Found> = outputs.iter().map(|o| scan(&forms, o)).collect();
        let (chosen, _) = choose(&forms, &runs);
        let chosen = chosen?;
        Some((chosen.throughput.unit.clone(), runs.iter().filter_map(|r| chosen.value(r, 1.0)).collect()))
    }

    #[test]
    fn realistic_outputs_are_recognised() {
        let cases = [
            (
                "test=birthday rng=random threads=2 attempts=2000000 mean=0.6797 seconds=4.61 tput(Mops)=8.63",
                "Mops/s",
                8.63,
            ),
            ("test=list-none threadNum=1 runTime(ms)=115\ntput(Mops)=8.63\n", "Mops/s", 8.63),
            ("Throughput: 12.5 MB/s", "MB/s", 12.5),
            ("throughput = 1200\n", "units/s", 1200.0),
            ("throughput=1200 latency(us)=5\n", "units/s", 1200.0),
            ("total 3.2 s\nthroughput: 1,234,567.8 ops/sec\n", "ops/s", 1_234_567.8),
            (
                "Running 10s test @ http://x\n  2 threads and 10 connections\n  Latency 635.91us\n\
              Requests/sec: 748868.53\n",
                "Requests/s",
                748_868.53,
            ),
            (
                "Time taken for tests:   2.5 seconds\nRequests per second:    3998.45 [#/sec] (mean)\n\
              Time per request:       2.5 [ms] (mean)\n",
                "Requests/s",
                3998.45,
            ),
            (
                "CPU speed:\n    events per second:   872.50\n\nGeneral statistics:\n    total time: 10.0s\n",
                "events/s",
                872.5,
            ),
            ("did 1000000 lookups in 0.5 s: 2000000 lookups/s", "lookups/s", 2_000_000.0),
            ("insert: 2.99 Mops/sec", "Mops/s", 2.99),
            ("done, 12 requests per second", "requests/s", 12.0),
            ("encoded 600 frames in 10.02s (59.88 fps)", "fps", 59.88),
            ("100%|####| 500/500 [00:10<00:00, 49.8it/s]", "it/s", 49.8),
            ("copied 1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s", "GB/s", 2.1),
            ("rate 2.5e6 ops/s", "ops/s", 2.5e6),
            ("throughput: 8.63 Mops (total)", "Mops/s", 8.63),
            ("IOPS=12.3", "IOPS", 12.3),
            ("GFLOPS=123.4", "GFLOPS", 123.4),
        ];
        for (output, unit, value) in cases {
            let found = recognised(&[output, output]);
            assert_eq!(found, Some((unit.to_owned(), vec![value, value])), "{output}");
        }
    }

    #[test]
    fn other_numbers_are_not_taken_for_a_throughput() {
        for output in [
            "",
            "threads=4 seconds=2.5",
            "0.5 s/op",
            "12 ms per request",
            "took 3 seconds per 100 requests",
            "throughput: 95 %",
            "throughput: fine",
            "version 1.2.3 ops",
            "ops=1000 in 5 s",
            "speed 0 ops/s",
            "throughput: inf",
            "-5 ops/s",
            "latency 5 us/op",
            "10.0.0.1/secure",
            "1 h",
            "12 stops",
            "completed 1000000 ops in 5 s",
            "did 20 Mops",
            "Mops=20",
            "5 steps",
            "2 GFLOP",
            "loops: 5",
        ] {
            assert_eq!(recognised(&[output, output]), None, "{output}");
        }
    }

    /// Any word may name the unit, if the runs have different rates.
    #[test]
    fn rates_in_any_unit() {
        for (outputs, unit, values) in [
            (["done\n2137 statements/s\n", "2140 statements/s"], "statements/s", [2137.0, 2140.0]),
            (["12.5 page renders per second", "25.1 page renders per second"], "page renders/s", [12.5, 25.1]),
            (["Documents per second: 77", "Documents per second: 78"], "Documents/s", [77.0, 78.0]),
            (["{\"docs_per_sec\": 77.5}", "{\"docs_per_sec\": 91}"], "docs/s", [77.5, 91.0]),
            (["quotesPerSecond=5", "quotesPerSecond=9"], "quotes/s", [5.0, 9.0]),
            (["rate 1234.5/s", "rate 2001/sec"], "units/s", [1234.5, 2001.0]),
            // Common words win over any other word.
            (["5 cars/s, 100 ops/s", "5 cars/s, 150 ops/s"], "ops/s", [100.0, 150.0]),
        ] {
            assert_eq!(recognised(&outputs), Some((unit.to_owned(), values.to_vec())), "{outputs:?}");
        }
        for outputs in [
            // A limit, a speed, the rate of one worker, and runs that differ in their unit.
            ["limit: 500 mails/s", "limit: 500 mails/s"],
            ["wind 12.1 metres per second", "wind 12.5 metres per second"],
            ["v = 3.1 m/s", "v = 3.2 m/s"],
            ["41 docs/s per thread", "40 docs/s per thread"],
            ["1200 ops/s per thread", "1100 ops/s per thread"],
            ["12 docs/s", "12 pages/s"],
            ["3 seconds per 100 requests", "4 seconds per 100 requests"],
        ] {
            assert_eq!(recognised(&outputs), None, "{outputs:?}");
        }
    }

    #[test]
    fn a_form_must_match_exactly_once_in_every_run() {
        // One line per thread: with two threads, no line has the throughput of the whole.
        assert_eq!(recognised(&["thread 0: 5 Mops/s\n", "thread 0: 5 Mops/s\nthread 1: 5 Mops/s\n"]), None);
        assert_eq!(recognised(&["10 ops/s", ""]), None);
        assert_eq!(recognised(&["10 ops/s", "10 kops/s"]), None);
        // The labelled total is used even though each thread prints its own rate.
        let two = "thread 0: 5 Mops/s\nthread 1: 5 Mops/s\nthroughput: 10 Mops/s\n";
        assert_eq!(
            recognised(&["thread 0: 5 Mops/s\nthroughput: 5 Mops/s\n", two]),
            Some(("Mops/s".into(), vec![5.0, 10.0]))
        );
    }

    #[test]
    fn of_several_rates_none_is_guessed() {
        let forms = Forms::common().unwrap();
        let runs = [scan(&forms, "12.5 MB/s\n1000 ops/s\n")];
        let (chosen, note) = choose(&forms, &runs);
        assert_eq!(chosen, None);
        assert!(note.unwrap().contains("ops/s, MB/s"));
    }

    #[test]
    fn the_last_match_of_the_users_pattern_counts() {
        let forms = Forms::given(r"rate=([0-9.]+)").unwrap();
        let runs = [scan(&forms, "rate=1\nrate=2\n"), scan(&forms, "rate=3\n"), scan(&forms, "nothing\n")];
        let (chosen, note) = choose(&forms, &runs);
        let chosen = chosen.unwrap();
        assert_eq!(runs.each_ref().map(|r| chosen.value(r, 1.0)), [Some(2.0), Some(3.0), None]);
        assert!(note.unwrap().contains("matched 2 times"));
        assert!(chosen.throughput.given);
    }

    #[test]
    fn mistakes_in_the_pattern_are_shown() {
        assert!(Forms::given("tput=[0-9.]+").unwrap_err().contains("no group"));
        assert!(Forms::given("(a)=([0-9.]+)").unwrap_err().contains("2 groups"));
        let error = Forms::given("tput(=([0-9.]+)").unwrap_err();
        assert!(error.contains('^') && error.contains("unclosed group"), "{error}");
    }

    #[test]
    fn long_lines_and_carriage_returns_are_read() {
        let forms = Forms::common().unwrap();
        let long = format!("{} 5 ops/s\n12 ops/s\r\n", "x".repeat(1 << 20));
        let found = scan(&forms, &long);
        assert_eq!(choose(&forms, std::slice::from_ref(&found)).0.unwrap().value(&found, 1.0), Some(12.0));
    }
}
