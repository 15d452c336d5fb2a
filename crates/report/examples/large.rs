//! What a large recording costs: 64 threads and 10 million slices. `large make DIR` writes the recording, with another
//! number behind it one of so many million slices; `large measure DIR` reads it, analyses it and writes the page to
//! DIR/page.html. They are two processes, so that the memory of one does not count for the other. `./dev large` runs both
//! and opens the page in a browser.

#[path = "../tests/common/hostile.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod hostile;

use recording::tables::{Sample, Slice};
use recording::{Recording, Tables};
use report::html::sources::Sources;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const THREADS: u32 = 64;
/// Slices for each CPU sample.
const SLICES_A_SAMPLE: usize = 10;
/// Bytes of rows in one part, as the recorder writes them (`collect::build::rows::PART`).
const PART: usize = 4 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: large make DIR [MILLIONS OF SLICES], then large measure DIR";
    let (what, folder) = (arguments.next().ok_or(usage)?, arguments.next().ok_or(usage)?);
    match what.to_str() {
        Some("make") => {
            let millions = arguments.next().map_or(Ok(10), |text| text.to_string_lossy().parse::<usize>())?;
            make(Path::new(&folder), millions.saturating_mul(1_000_000))
        }
        Some("measure") => measure(Path::new(&folder)),
        _ => Err(usage.into()),
    }
}

/// Repeats a short recording, one copy after the other.
fn make(folder: &Path, slices: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut tables = hostile::many(THREADS, 2000);
    let run = tables.traces.last().map(|trace| trace.run).unwrap_or_default();
    let of_run: Vec<Slice> = tables.slices.iter().filter(|slice| slice.run == run).collect();
    let sampled: Vec<Sample> = tables.samples.iter().filter(|sample| sample.run == run).cloned().collect();
    let length = of_run.iter().map(|slice| slice.end_ns).max().unwrap_or(0);
    let copies = slices.div_ceil(of_run.len()) as u64;
    for copy in 1..copies {
        let at = copy * length;
        tables.slices.extend(of_run.iter().map(|s| Slice { start_ns: s.start_ns + at, end_ns: s.end_ns + at, ..*s }));
        let room = (slices / SLICES_A_SAMPLE).saturating_sub(tables.samples.len());
        tables.samples.extend(sampled.iter().take(room).map(|s| Sample { time_ns: s.time_ns + at, ..s.clone() }));
    }
    for thread in tables.threads.iter_mut().filter(|thread| thread.run == run) {
        thread.end_ns += (copies - 1) * length;
        for time in [&mut thread.running_ns, &mut thread.runnable_ns, &mut thread.preempted_ns, &mut thread.blocked_ns]
        {
            *time *= copies;
        }
    }
    for wait in tables.waits.iter_mut().filter(|wait| wait.run == run) {
        wait.count *= copies;
        wait.blocked_ns *= copies;
    }
    for trace in tables.traces.iter_mut().filter(|trace| trace.run == run) {
        trace.end_ns += (copies - 1) * length;
    }
    let path = folder.join("recording");
    std::fs::create_dir_all(folder)?;
    let (slices, samples, waits) = (tables.slices.len(), tables.samples.len(), tables.waits.len());
    write(tables, &path)?;
    let bytes: u64 = walk(&path)?;
    say(&format!(
        "{THREADS} threads, {slices} slices, {samples} samples, {waits} waits; {} MB on disk",
        bytes / 1_000_000
    ))
}

/// Writes the recording as a recorder does: timelines and samples in parts of some MiB.
fn write(mut tables: Tables, path: &Path) -> Result<(), recording::Error> {
    // All but the first part of these two are written behind the rest.
    let (first, rest) = (PART / size_of::<Slice>(), PART / size_of::<Sample>());
    let slices = std::mem::take(&mut tables.slices);
    tables.slices = slices.range(0..first).collect();
    let samples = tables.samples.split_off(rest.min(tables.samples.len()));
    let mut writer = tables.writer(path)?;
    let mut left = slices.range(first..slices.len());
    loop {
        let part: Vec<Slice> = left.by_ref().take(first).collect();
        if part.is_empty() {
            break;
        }
        writer.append(&part)?;
    }
    samples.chunks(rest).try_for_each(|part| writer.append(part))
}

fn walk(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { walk(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

fn measure(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let begin = Clock::start();
    let tables = Recording::open(folder.join("recording"))?.tables()?;
    let read_memory = peak_memory();
    say(&format!("read: {}, {} MB", begin.passed(), read_memory / 1_000_000))?;
    let begin = Clock::start();
    let model = analyze::model::Model::new(&tables);
    let analysis = analyze::analyze(&model);
    let analysed = peak_memory().saturating_sub(read_memory);
    say(&format!("analysed: {}, {} MB more (goal 5 s, 1000 MB)", begin.passed(), analysed / 1_000_000))?;
    let begin = Clock::start();
    let mut text = Vec::new();
    let style = report::terminal::Style { colour: false, width: 80, unicode: true, whole: false };
    let places = report::terminal::SweepFiles { recording: folder, beside: &[] };
    report::terminal::render(&analysis.answer, &places, style, &mut text)?;
    say(&format!("answer as text: {}, {} lines", begin.passed(), text.split(|b| *b == b'\n').count()))?;
    let begin = Clock::start();
    let subject = report::html::Subject { analysis: &analysis, folder: "recording", sources: &Sources::default() };
    let mut page = Vec::new();
    report::html::render(&subject, &mut page)?;
    say(&format!(
        "page: {}, {:.2} MB (goal 15 MB); {} MB at most in all",
        begin.passed(),
        page.len() as f64 / 1e6,
        peak_memory() / 1_000_000
    ))?;
    std::fs::write(folder.join("page.html"), page)?;
    Ok(())
}

/// Wall time and processor time: on a machine that is busy with other things the second tells more.
#[derive(Clone, Copy)]
struct Clock {
    begin: Instant,
    on_cpu_ns: u64,
}

impl Clock {
    fn start() -> Clock {
        Clock { begin: Instant::now(), on_cpu_ns: on_cpu_ns() }
    }

    fn passed(self) -> String {
        let cpu = on_cpu_ns().saturating_sub(self.on_cpu_ns) as f64 / 1e9;
        format!("{:.2} s ({cpu:.2} s on a processor)", self.begin.elapsed().as_secs_f64())
    }
}

/// Processor time of this thread so far (Documentation/scheduler/sched-stats.rst); this program has no other thread.
fn on_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// The most memory that this process has used, bytes (proc_pid_status(5), VmHWM).
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn say(line: &str) -> Result<(), Box<dyn std::error::Error>> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
