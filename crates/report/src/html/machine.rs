//! The run: machine, commands, noise, what tracing cost, what was lost.

use super::markup::Markup;
use super::page::Subject;
use crate::words;
use analyze::model::Traced;
use recording::meta::{Completion, Imported};

pub(super) fn section(subject: &Subject<'_, '_>) -> String {
    let meta = &subject.analysis.model.tables.meta;
    let machine = &meta.machine;
    if let Some(imported) = &meta.imported {
        return of_profile(subject, imported);
    }
    let mut m = Markup::default();
    m.raw("<dl class=\"open\">");
    let mut row = |what: &str, value: String| {
        if !value.is_empty() {
            m.raw("<dt>").text(what).raw("</dt><dd>").text(&value).raw("</dd>");
        }
    };
    row(
        "Processors",
        format!(
            "{} of {} usable, {} cores, {}",
            machine.usable_processors, machine.processors, machine.usable_cores, machine.model
        ),
    );
    row("Memory", format!("{} GiB", words::number(machine.memory_bytes as f64 / f64::from(1 << 30), 1)));
    row(
        "System",
        format!(
            "Linux {} {}{}",
            machine.kernel,
            machine.architecture,
            machine.distribution.as_ref().map(|d| format!(", {d}")).unwrap_or_default()
        ),
    );
    let hypervisor = machine.hypervisor.as_deref().unwrap_or_default();
    row("Virtual machine", if hypervisor == "unknown" { "yes".to_owned() } else { hypervisor.to_owned() });
    row(
        "Recording",
        format!(
            "format {}, by knee {}, {}",
            meta.format,
            meta.knee,
            match meta.completion {
                Completion::Finished => "finished",
                Completion::Interrupted => "interrupted by the user",
                Completion::Unfinished => "unfinished: its writer was killed",
            }
        ),
    );
    if meta.runs_per_count > 0 {
        row("Runs", format!("{} timed at each count, in random order (seed {})", meta.runs_per_count, meta.order_seed));
    }
    let environment: Vec<String> = meta.environment.iter().map(|(n, v)| format!("{n}={v}")).collect();
    row("Environment", environment.join(" "));
    for account in &subject.analysis.answer.account {
        let threads = subject.analysis.answer.counted.many(account.threads);
        row(
            &format!("Tracing, {threads}"),
            format!("{}× the time of the timed runs", words::number(account.traced_over_clean, 2)),
        );
    }
    m.raw("</dl>\n");
    list("Not recorded", &losses(subject), &mut m);
    list("Notes", &meta.notes, &mut m);
    if !meta.capabilities.is_empty() {
        m.raw("<h3>What could be observed</h3>\n<dl class=\"open\">");
        for capability in &meta.capabilities {
            m.raw("<dt>").text(&crate::text::capital(&capability.what)).raw("</dt><dd>");
            m.raw(if capability.available { "available: " } else { "not available: " })
                .text(&capability.why)
                .raw("</dd>");
        }
        m.raw("</dl>\n");
    }
    m.raw("<h3>Repeat it</h3>\n<pre class=\"repeat\"><code>");
    for (i, word) in repeat(subject).iter().enumerate() {
        // Lines break between words only, as long as these fit: half an option would look like another option.
        m.raw(if i > 0 { " <span>" } else { "<span>" }).text(word).raw("</span>");
    }
    m.raw("</code></pre>\n");
    m.into_html()
}

fn list(title: &str, values: &[String], m: &mut Markup) {
    if values.is_empty() {
        return;
    }
    m.raw("<h3>").text(title).raw("</h3>\n<ul class=\"told\">");
    for value in values {
        m.raw("<li>").text(value).raw("</li>");
    }
    m.raw("</ul>\n");
}

/// What was not recorded: each thing once, with the amounts by thread count.
fn losses(subject: &Subject<'_, '_>) -> Vec<String> {
    let mut of: Vec<(&str, Vec<String>)> = Vec::new();
    for loss in subject.analysis.model.tables.losses.iter().filter(|loss| loss.count > 0) {
        let model = subject.analysis.model;
        let told = model.traced.iter().find(|traced| traced.run.run == loss.run).map(Traced::shown_count);
        let asked = || model.tables.runs.iter().find(|run| run.run == loss.run).map(|run| run.threads);
        let threads = told.or_else(asked).filter(|threads| *threads > 0);
        let with =
            threads.map_or_else(String::new, |count| format!(" with {}", subject.analysis.answer.counted.many(count)));
        let all = loss.of.map(|of| format!(" of {}", words::count(of as f64))).unwrap_or_default();
        let words = format!("{}{all}{with}", words::count(loss.count as f64));
        match of.iter_mut().find(|(what, _)| *what == loss.what) {
            Some((_, counts)) => counts.push(words),
            None => of.push((&loss.what, vec![words])),
        }
    }
    of.into_iter().map(|(what, counts)| format!("{}: {}", crate::text::capital(what), counts.join(", "))).collect()
}

/// Little is known about the run behind an imported profile.
fn of_profile(subject: &Subject<'_, '_>, imported: &Imported) -> String {
    let meta = &subject.analysis.model.tables.meta;
    let mut m = Markup::default();
    m.raw("<dl class=\"open\">");
    let system = if meta.machine.kernel.is_empty() { String::new() } else { format!("Linux {}", meta.machine.kernel) };
    let rows = [
        ("Imported from", format!("{}: {}", imported.tool, imported.files.join(", "))),
        ("Processors", meta.machine.model.clone()),
        ("System", format!("{system} {}", meta.machine.architecture).trim().to_owned()),
        ("Recording", format!("format {}, by knee {}", meta.format, meta.knee)),
    ];
    for (what, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        m.raw("<dt>").text(what).raw("</dt><dd>").text(&value).raw("</dd>");
    }
    m.raw("</dl>\n");
    list("Not recorded", &losses(subject), &mut m);
    list("Notes", &meta.notes, &mut m);
    m.into_html()
}

/// The command that would make the same recording again, word by word.
fn repeat(subject: &Subject<'_, '_>) -> Vec<String> {
    let meta = &subject.analysis.model.tables.meta;
    let mut words = vec!["knee".to_owned()];
    let alone = meta.thread_counts.is_empty()
        || meta.counted.is_threads()
            && !meta
                .command
                .iter()
                .chain(meta.environment.iter().map(|e| &e.1))
                .chain(meta.load.iter().flat_map(|load| &load.command))
                .any(|w| w.contains("{threads}"));
    if alone {
        words.push("record".to_owned());
    } else {
        let counts: Vec<String> = meta.thread_counts.iter().map(u32::to_string).collect();
        let option = if meta.counted.is_threads() { "-t" } else { "--processors" };
        words.extend(["sweep".to_owned(), option.to_owned(), counts.join(",")]);
        if meta.runs_per_count > 0 {
            words.extend(["--runs".to_owned(), meta.runs_per_count.to_string()]);
        }
        if let Some(throughput) = meta.throughput.as_ref().filter(|t| t.given) {
            words.extend(["--throughput".to_owned(), quoted(&throughput.pattern)]);
        }
    }
    if let Some(load) = &meta.load {
        let command: Vec<String> = load.command.iter().map(|word| quoted(word)).collect();
        words.extend(["--load".to_owned(), quoted(&command.join(" "))]);
        if let Some(ready) = &load.ready {
            words.extend(["--ready".to_owned(), quoted(ready)]);
        }
        if !load.processors.is_empty() {
            let processors: Vec<String> = load.processors.iter().map(u32::to_string).collect();
            words.extend(["--load-processors".to_owned(), processors.join(",")]);
        }
    }
    for (name, value) in &meta.environment {
        words.extend(["--env".to_owned(), quoted(&format!("{name}={value}"))]);
    }
    words.push("--".to_owned());
    words.extend(meta.command.iter().map(|w| quoted(w)));
    words
}

/// One word of a POSIX shell: in single quotes unless it is plain.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("--threads=4"), "--threads=4");
        assert_eq!(quoted("--threads={threads}"), "'--threads={threads}'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("a;rm -rf ~"), "'a;rm -rf ~'");
    }
}
