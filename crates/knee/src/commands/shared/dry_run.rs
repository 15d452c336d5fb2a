//! `knee sweep --plan`: what would be run.

use crate::job::Job;
use crate::plan::Amounts;
use crate::ui;
use report::terminal::sheet::{self, Entry};
use report::words::plural;

pub(in crate::commands) fn print(job: &Job, amounts: Amounts) -> anyhow::Result<ui::Code> {
    let entries = entries(job, amounts);
    ui::out(|mut out| sheet::render(&entries, ui::style(), &mut out))?;
    Ok(ui::OK)
}

fn entries(job: &Job, amounts: Amounts) -> Vec<Entry> {
    let counts: Vec<String> = job.threads.iter().map(u32::to_string).collect();
    let several = job.cases.len() > 1;
    let many = format!("{}s", job.counted.word());
    let mut entries = vec![Entry::Title(job.title.clone())];
    let heading = match several {
        true => format!("{}, each with {} {many}", plural(job.cases.len() as u64, "case"), counts.join(", ")),
        false => format!("with {} {many}", counts.join(", ")),
    };
    entries.push(Entry::Heading("Would run".to_owned(), heading));
    for case in &job.cases {
        let words = case.template.argv.iter().map(|word| word.to_string_lossy());
        let env = case.template.env.iter().map(|(n, v)| format!("{}={}", n.to_string_lossy(), v.to_string_lossy()));
        let command = env.chain(words.map(String::from)).collect::<Vec<_>>().join(" ");
        entries.push(Entry::Whole(if several { case.label() } else { String::new() }, command));
        if let (Some(load), Some(plan)) = (&case.template.load, &job.serving) {
            let load = load.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            entries.push(Entry::Whole(format!("when {}", plan.ready), load));
        }
    }
    let each = job.cases.len() as u64 * job.threads.len() as u64;
    let (warm_up, timed) = (each * u64::from(amounts.warm_up), each * u64::from(amounts.timed));
    let observed = if amounts.traced { each } else { 0 };
    entries.push(Entry::Heading("Runs".to_owned(), String::new()));
    let mut amount = |label: &str, count: u64, what: String| {
        if count > 0 {
            entries.push(Entry::Text(label.to_owned(), format!("{count}{what}")));
        }
    };
    amount("warm-up", warm_up, String::new());
    let blocks = plural(amounts.timed.into(), "block");
    amount("timed", timed, format!(", in {blocks} that hold each case and count once, in random order"));
    let more = ", only where the others leave open whether time is lost".to_owned();
    amount("timed, more", each * u64::from(amounts.more), more);
    amount("observed", observed, ", and at most twice as many again where one is unlike the timed runs".to_owned());
    amount("in all", warm_up + timed + observed, String::new());
    if observed == 0 {
        let why = match job.amounts.traced {
            true => "none: this machine does not let knee see more, `knee doctor` says why",
            false => "none, as asked: there will be no causes",
        };
        entries.push(Entry::Text("observed".to_owned(), why.to_owned()));
    }
    entries.push(Entry::Text(
        "time".to_owned(),
        "the time left is shown when runs have ended, from their durations".to_owned(),
    ));
    if let Some(folder) = job.cases.first().and_then(|case| case.template.folder.as_ref()) {
        entries.push(Entry::Whole("in".to_owned(), folder.display().to_string()));
    }
    if !job.skipped.is_empty() {
        entries.push(Entry::Heading("Left out".to_owned(), String::new()));
        entries.extend(job.skipped.iter().map(|s| Entry::Text(s.variant.clone(), s.why.clone())));
    }
    entries
}
