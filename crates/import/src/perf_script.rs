//! Reads the text that `perf script` prints, one sample after the other (perf-script(1); `process_event` in the kernel's
//! tools/perf/builtin-script.c, `sample__fprintf_callchain` in tools/perf/util/evsel_fprintf.c).
//!
//! A sample is a line `comm pid/tid [cpu] seconds: period event:` followed by the code address, or by the frames of the
//! call path on separate lines, innermost first, up to an empty line. `perf script -F` leaves fields out, so each field
//! is recognised by its form. The profiled program chooses parts of this text: lines that are not understood are counted
//! and left out.

use std::io::{self, BufRead};

/// The most frames that are kept of a call path. The kernel records at most 127 unless `perf_event_max_stack` is
/// raised; deeper paths are cut at their outer end.
pub const DEEPEST: usize = 512;

/// One function of a call path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The code address as printed.
    pub address: u64,
    /// The function without its offset; absent for `[unknown]`.
    pub function: Option<String>,
    /// The text in parentheses: a path, `[kernel.kallsyms]`, `[unknown]`; empty for an inlined function.
    pub module: String,
    /// Source file.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
    /// True when it was inlined into the next frame, which has the same address.
    pub inlined: bool,
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The thread's name.
    pub comm: String,
    /// Its process, when printed.
    pub pid: Option<u32>,
    /// Its id.
    pub tid: u32,
    /// The processor, when printed.
    pub processor: Option<u32>,
    /// Its time, nanoseconds of perf's clock.
    pub time_ns: u64,
    /// The number of events that the sample stands for, when printed.
    pub period: Option<u64>,
    /// The event, as printed; empty when none was printed.
    pub event: String,
    /// The call path, innermost first.
    pub frames: Vec<Frame>,
    /// True when outer frames are missing: the path was too deep, or the text ended inside it.
    pub cut: bool,
}

/// What is in a text besides samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// Lines that are not samples, frames or comments.
    pub strange_lines: u64,
    /// The first of them, shortened.
    pub strange: Option<String>,
    /// Samples whose line has no time.
    pub without_time: u64,
}

/// How many characters of a strange line are shown.
const SHOWN: usize = 60;

/// Reads a text to its end. `sample` gets each sample, `comment` each line that begins with `#`.
///
/// # Errors
/// When `text` cannot be read.
pub fn read(mut text: impl BufRead, mut comment: impl FnMut(&str), mut sample: impl FnMut(Sample)) -> io::Result<Rest> {
    let mut rest = Rest::default();
    let mut open: Option<Sample> = None;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if text.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let ended = bytes.last() == Some(&b'\n');
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        if line.trim().is_empty() {
            open.take().into_iter().for_each(&mut sample);
            continue;
        }
        // The last line of a truncated text may itself be incomplete, so its frame cannot be used.
        if !ended && open.is_some() && frame(line).is_some() {
            break;
        }
        let added = |open: &mut Option<Sample>| open.as_mut().is_some_and(|current| add(current, line));
        if line.starts_with('\t') && added(&mut open) {
            continue;
        }
        if let Some(next) = first_line(line) {
            open.replace(next).into_iter().for_each(&mut sample);
            continue;
        }
        if line.starts_with(' ') && added(&mut open) {
            continue;
        }
        if open.is_none() && line.starts_with('#') {
            comment(line);
            continue;
        }
        rest.without_time += u64::from(looks_like_a_sample(line));
        rest.strange_lines += 1;
        rest.strange.get_or_insert_with(|| line.trim().chars().take(SHOWN).collect());
    }
    if let Some(mut last) = open {
        // perf ends each call path with an empty line; if it is missing, so is the rest of the path.
        last.cut |= !last.frames.is_empty() && !inline(&last);
        sample(last);
    }
    Ok(rest)
}

/// A sample without a call path has its only frame on its own line, without an empty line after it.
fn inline(sample: &Sample) -> bool {
    sample.frames.len() == 1
}

/// Adds a line to the open sample: a frame, or the source line of the last one. False when it is neither.
fn add(sample: &mut Sample, line: &str) -> bool {
    if let Some(frame) = frame(line) {
        if frame.address == u64::MAX && frame.function.is_none() {
            // perf prints this when its unwinder failed.
            sample.cut = true;
        } else if sample.frames.len() < DEEPEST {
            sample.frames.push(frame);
        } else {
            sample.cut = true;
        }
        return true;
    }
    // If there is a source line, ` (inlined)` is printed after it instead of after the name.
    let (line, inlined) = line.strip_suffix(" (inlined)").map_or((line, false), |line| (line, true));
    let (Some(last), Some((file, number))) = (sample.frames.last_mut(), source_line(line)) else { return false };
    last.inlined |= inlined;
    // perf prints `??:0` and `libc.so.6[1234]` if there is no line.
    if number > 0 && !file.starts_with('?') {
        (last.file, last.line) = (Some(file.to_owned()), Some(number));
    }
    true
}

/// `  /src/app.c:17`, sometimes with a discriminator in parentheses.
fn source_line(line: &str) -> Option<(&str, u32)> {
    let line = line.trim();
    let line = line.split_once(" (discriminator").map_or(line, |(place, _)| place);
    if let Some((file, number)) = line.rsplit_once(':')
        && let Ok(number) = number.parse()
    {
        return (!file.is_empty()).then_some((file, number));
    }
    let inside = line.strip_suffix(']')?.rsplit_once('[')?;
    let hexadecimal = !inside.1.is_empty() && inside.1.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal.then_some((inside.0, 0))
}

/// `7f1234 random+0x20 (/usr/lib/libc.so.6)`, `55d0 work (inlined)`, `7f12 [unknown] ([unknown])`.
fn frame(text: &str) -> Option<Frame> {
    let text = text.trim();
    let (address, rest) = text.split_once(' ').unwrap_or((text, ""));
    let digits = address.strip_prefix("0x").unwrap_or(address);
    // A name such as `add` also looks hexadecimal; but an address is long, or something follows it.
    if rest.is_empty() && digits.len() < 6 {
        return None;
    }
    let address = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    let (name, module) = split_module(rest.trim());
    let inlined = module == Some("inlined");
    let name = without_offset(name);
    Some(Frame {
        address,
        function: (!name.is_empty() && name != "[unknown]").then(|| name.to_owned()),
        module: module.filter(|_| !inlined).map(without_module_offset).unwrap_or_default().to_owned(),
        file: None,
        line: None,
        inlined,
    })
}

/// The name, and the text in the last parentheses. Names and paths may contain parentheses themselves.
fn split_module(text: &str) -> (&str, Option<&str>) {
    let Some(inside) = text.strip_suffix(')') else { return (text, None) };
    let mut depth = 1_u32;
    for (at, byte) in inside.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // `foo(int)` without a module: the parenthesis belongs to the name.
            let begins = at == 0 || inside.as_bytes().get(at - 1) == Some(&b' ');
            let (name, module) = (inside.get(..at).unwrap_or(""), inside.get(at + 1..));
            return if begins { (name.trim_end(), module) } else { (text, None) };
        }
    }
    (text, None)
}

/// `random+0x20` is `random`.
fn without_offset(name: &str) -> &str {
    let hexadecimal = |offset: &str| !offset.is_empty() && offset.bytes().all(|b| b.is_ascii_hexdigit());
    match name.rsplit_once("+0x") {
        Some((name, offset)) if hexadecimal(offset) => name,
        _ => name,
    }
}

/// With `-F +dsoff` the path is followed by the offset in the file.
fn without_module_offset(module: &str) -> &str {
    without_offset(module)
}

/// The first line of a sample, or `None` if it is not one.
fn first_line(line: &str) -> Option<Sample> {
    let words = words(line);
    for (at, (start, word)) in words.iter().enumerate() {
        let Some(time_ns) = time(word) else { continue };
        let Some(who) = who(line, words.get(..at)?) else { continue };
        let after = line.get(start + word.len()..)?;
        let (period, event, rest) = event(after);
        return Some(Sample {
            comm: who.comm.to_owned(),
            pid: who.pid,
            tid: who.tid,
            processor: who.processor,
            time_ns,
            period,
            event: event.to_owned(),
            frames: frame(rest).into_iter().collect(),
            cut: false,
        });
    }
    None
}

/// The words of a line with their positions.
fn words(line: &str) -> Vec<(usize, &str)> {
    let begin = line.as_ptr() as usize;
    // A thread's name has at most 15 characters, and few fields follow, so the time must be among the first words.
    line.split_whitespace().take(24).map(|word| (word.as_ptr() as usize - begin, word)).collect()
}

/// The thread that was sampled, from the fields before the time.
struct Who<'l> {
    comm: &'l str,
    pid: Option<u32>,
    tid: u32,
    processor: Option<u32>,
}

/// The fields before the time: `comm tid [cpu]`; also with the process before the thread (`pid/tid`), with the letters
/// of the latency format after the processor, or without the processor.
fn who<'l>(line: &'l str, before: &[(usize, &'l str)]) -> Option<Who<'l>> {
    let bracketed = |word: &str| word.strip_prefix('[')?.strip_suffix(']')?.parse::<u32>().ok();
    let ids = |word: &str| match word.split_once('/') {
        Some((pid, tid)) => Some((Some(number(pid)?), number(tid)?)),
        None => Some((None, number(word)?)),
    };
    let at =
        |back: usize| before.len().checked_sub(back + 1).and_then(|at| before.get(at)).map_or("", |(_, word)| *word);
    let (processor, back) = match (bracketed(at(0)), ids(at(0))) {
        (Some(processor), _) => (Some(processor), 1),
        (None, Some(_)) => (None, 0),
        (None, None) => (Some(bracketed(at(1))?), 2),
    };
    let (pid, tid) = ids(at(back))?;
    let (start, _) = before.get(before.len().checked_sub(back + 1)?)?;
    Some(Who { comm: line.get(..*start)?.trim(), pid, tid, processor })
}

/// A process or thread number; −1 stands for an unknown one.
fn number(word: &str) -> Option<u32> {
    if word == "-1" { Some(0) } else { word.parse().ok() }
}

/// `1234.567890:` as nanoseconds.
fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let nanoseconds = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The fields after the time: the period, the event, and the rest.
fn event(text: &str) -> (Option<u64>, &str, &str) {
    let next = |text: &'_ str| -> (usize, usize) {
        let begin = text.len() - text.trim_start().len();
        let length = text.trim_start().find(char::is_whitespace).unwrap_or(text.trim_start().len());
        (begin, begin + length)
    };
    let (begin, end) = next(text);
    let word = text.get(begin..end).unwrap_or("");
    let period = word.parse::<u64>().ok();
    let text = if period.is_some() { text.get(end..).unwrap_or("") } else { text };
    let (begin, end) = next(text);
    match text.get(begin..end).and_then(|word| word.strip_suffix(':')) {
        Some(event) => (period, event, text.get(end..).unwrap_or("")),
        None => (period, "", text),
    }
}

/// A line with a thread and an event, but no time: `perf script -F` prints this when `time` is left out.
fn looks_like_a_sample(line: &str) -> bool {
    let words = words(line);
    let thread = |word: &str| word.split('/').all(|part| part.parse::<u32>().is_ok());
    !line.starts_with(['\t', '#']) && words.iter().skip(1).take(3).any(|(_, word)| thread(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> (Vec<Sample>, Rest) {
        let mut samples = Vec::new();
        let rest = read(text.as_bytes(), |_| {}, |sample| samples.push(sample)).unwrap();
        (samples, rest)
    }

    #[test]
    fn a_sample_with_its_call_path() {
        let text = "birthday 4711 [001] 12345.678901:   10101010 cpu-clock:ppp: \n\
                    \t    7f1234567890 __random+0x20 (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
                    \t    55d0c0a01234 simulate+0x34 (/tmp/birthday)\n\
                    \t            1234 [unknown] ([unknown])\n\n";
        let (samples, rest) = all(text);
        let [sample] = samples.as_slice() else { panic!("{samples:?}") };
        assert_eq!((sample.comm.as_str(), sample.pid, sample.tid, sample.processor), ("birthday", None, 4711, Some(1)));
        assert_eq!((sample.time_ns, sample.period), (12_345_678_901_000, Some(10_101_010)));
        assert_eq!((sample.event.as_str(), sample.cut, rest), ("cpu-clock:ppp", false, Rest::default()));
        let names: Vec<_> = sample.frames.iter().map(|f| (f.function.as_deref(), f.module.as_str())).collect();
        let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        assert_eq!(names, [(Some("__random"), libc), (Some("simulate"), "/tmp/birthday"), (None, "[unknown]")]);
        assert_eq!(sample.frames[0].address, 0x7f12_3456_7890);
    }

    #[test]
    fn a_sample_without_a_call_path_is_one_line() {
        let text = "         swapper     0/0     [000]   123.456: cycles:P:  ffffffff8104f45a native_safe_halt+0xa ([kernel.kallsyms])\n\
                    Web Content 12/34 [003] 124.000001000:          1 cpu/cycles/u:            55d0 f(int, char) const+0x1 (/opt/a b (deleted))\n";
        let (samples, rest) = all(text);
        assert_eq!((samples.len(), rest.strange_lines), (2, 0));
        assert_eq!((samples[0].comm.as_str(), samples[0].period, samples[0].cut), ("swapper", None, false));
        assert_eq!((samples[1].comm.as_str(), samples[1].pid, samples[1].tid), ("Web Content", Some(12), 34));
        let frame = &samples[1].frames[0];
        assert_eq!(
            (frame.function.as_deref(), frame.module.as_str()),
            (Some("f(int, char) const"), "/opt/a b (deleted)")
        );
    }

    #[test]
    fn inlined_functions_and_source_lines() {
        let text = "a 1 [000] 1.000000: cpu-clock: \n\
                    \t 55d0c0a01234 mix (inlined)\n\
                    \t 55d0c0a01234 twist+0x2\n  /src/app.c:7 (inlined)\n\
                    \t 55d0c0a01234 work+0x4 (/tmp/app)\n  app.c:9 (discriminator 2)\n\
                    \t 7f12 start_thread (/usr/lib/libc.so.6)\n  libc.so.6[1a2b]\n\n";
        let (samples, rest) = all(text);
        let frames = &samples[0].frames;
        assert_eq!((frames.len(), rest.strange_lines), (4, 0));
        assert_eq!((frames[0].inlined, frames[0].module.as_str(), frames[0].line), (true, "", None));
        assert_eq!((frames[1].inlined, frames[1].file.as_deref(), frames[1].line), (true, Some("/src/app.c"), Some(7)));
        assert_eq!((frames[2].inlined, frames[2].file.as_deref(), frames[2].line), (false, Some("app.c"), Some(9)));
        assert_eq!(frames[3].line, None);
    }

    #[test]
    fn names_are_kept_unchanged() {
        for (name, tid) in [("a 7 [001] b", 9), ("1.5: x", 3), ("<img src=x>", 4), ("#!", 5), ("", 6), (":12", 12)] {
            let (samples, _) = all(&format!("{name} {tid} [002] 5.000001: 4 cycles: \n\t 7f0012 f<{name}> (/x)\n\n"));
            let [sample] = samples.as_slice() else { panic!("{name}: {samples:?}") };
            assert_eq!((sample.comm.as_str(), sample.tid, sample.processor), (name, tid, Some(2)));
            assert_eq!(sample.frames[0].function, Some(format!("f<{name}>")));
        }
    }

    #[test]
    fn lines_that_are_not_samples_are_counted() {
        let (samples, rest) = all("# comment\nhello\n a b c\n\t7f1234 orphan (/x)\n");
        assert!(samples.is_empty());
        assert_eq!((rest.strange_lines, rest.strange.as_deref()), (3, Some("hello")));
        let (_, rest) = all("app 12 cpu-clock: \n\t7f1234 f (/x)\n\n");
        assert_eq!(rest.without_time, 1);
    }

    #[test]
    fn a_text_that_ends_inside_a_call_path_is_marked_as_cut() {
        let text = "a 1 [000] 1.000000: cpu-clock: \n\t 7f0001 f (/x)\n\t 7f0002 g (/x)\n\t 7f0003 ma";
        let (samples, _) = all(text);
        assert_eq!((samples[0].frames.len(), samples[0].cut), (2, true));
        let whole = "a 1 [000] 1.000000: cpu-clock: \n\t 7f0001 f (/x)\n\t 7f0002 g (/x)\n\n";
        assert!(!all(whole).0[0].cut);
    }

    #[test]
    fn output_of_tracepoints_is_not_read_as_frames() {
        let (samples, _) = all("a 1 [000] 1.000000: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b\n\n");
        assert_eq!((samples[0].event.as_str(), samples[0].frames.len()), ("sched:sched_switch", 0));
        let (samples, _) = all("a 1 [000] d..2. 1.000000: sched:sched_waking: comm=b pid=2\n");
        assert_eq!((samples[0].tid, samples[0].processor), (1, Some(0)));
    }

    #[test]
    fn the_mark_of_a_failed_unwinder_cuts_the_path() {
        let text = "a 1 1.0: cpu-clock: \n\t 7f0001 f (/x)\n\tffffffffffffffff [unknown] ([unknown])\n\n";
        let (samples, _) = all(text);
        assert_eq!((samples[0].frames.len(), samples[0].cut), (1, true));
    }

    #[test]
    fn deep_paths_are_cut() {
        let frames: String = (0..600).map(|n| format!("\t {:x} f{n} (/x)\n", 0x7f_0000 + n)).collect();
        let (samples, _) = all(&format!("a 1 [000] 1.000000: cpu-clock: \n{frames}\n"));
        assert_eq!((samples[0].frames.len(), samples[0].cut), (DEEPEST, true));
    }
}
