//! `knee view`: the page of a recording with all of its detail, served on this machine.

use super::shared::{answer, pair, side_by_side, sources};
use crate::cli::View;
use crate::failure::{Failure, Status};
use crate::index::{self, Question};
use crate::view::{ServedPages, Server};
use crate::{interrupt, ui};
use ::report::html::Served;
use ::report::html::cases::{self, Cases, Pages};
use analyze::analyze;
use analyze::model::Model;
use collect::Stop;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn run(options: &View) -> anyhow::Result<ui::Code> {
    let pages = if index::is_there(&options.folder) {
        several(&options.folder)?
    } else {
        ServedPages::one(page(&options.folder)?)
    };
    let server = Server::open(options.port).map_err(|error| refused(options.port, &error))?;
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let address = server.address();
    ui::out(|out| writeln!(out, "{address}"))?;
    ui::say("Open the address in a browser on this machine; nobody gets in without it. Ctrl-C ends it.");
    if options.open {
        open(&address);
    }
    server.run(&pages, &stop)?;
    Ok(ui::OK)
}

/// The page of one recording.
fn page(folder: &Path) -> anyhow::Result<Served> {
    let tables = answer::tables(folder)?;
    let model = Model::new(&tables);
    let analysis = analyze(&model);
    let name = folder.to_string_lossy();
    let sources = sources::sources_around(&analysis.answer, &tables);
    let subject = ::report::html::Subject { analysis: &analysis, folder: &name, sources: &sources };
    // The served page has its own data; the tables are dropped here, so that they take no memory while it is served.
    Ok(::report::html::serve(&subject)?)
}

/// The page of several cases, which links to the page of each.
fn several(folder: &Path) -> anyhow::Result<ServedPages> {
    let index = index::read(folder)?;
    let mut comparison = side_by_side::compare_cases(folder)?;
    let mut found = String::new();
    if index.question != Question::Cases {
        // Which command is faster is judged only by the blocks in which both ran; no other number may contradict it.
        found = pair::compare_pair(folder)?.comparison.summary;
        comparison.cases.iter_mut().for_each(|case| case.against_first.clear());
    }
    let name = folder.to_string_lossy();
    let mut out = Vec::new();
    let cases = Cases { comparison: &comparison, folder: &name, pages: Pages::Served, found: &found };
    cases::render(&cases, &mut out)?;
    let recordings: Vec<PathBuf> = index.cases.iter().map(|case| folder.join(&case.recording)).collect();
    let number = recordings.len();
    let make = move |case: usize| match recordings.get(case) {
        Some(recording) => page(recording),
        None => Err(anyhow::anyhow!("there is no such case")),
    };
    Ok(ServedPages::several(out, number, Box::new(make)))
}

fn refused(port: u16, error: &io::Error) -> Failure {
    let status = if error.kind() == io::ErrorKind::PermissionDenied { Status::Permission } else { Status::Usage };
    Failure::new(status, format!("cannot listen on port {port} of 127.0.0.1: {error}"))
        .hint("without --port a free one is taken")
}

/// Opens the desktop's browser. A missing browser is no failure, because the address is printed too.
fn open(address: &str) {
    let browser = Command::new("xdg-open").arg(address).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    match browser {
        Ok(mut child) => {
            // The child may end at once, or be the browser itself and live on. A thread waits for it, so that knee goes
            // on and no zombie is left.
            std::thread::spawn(move || child.wait());
        }
        Err(error) => ui::say(&format!("knee: cannot start xdg-open: {error}")),
    }
}
