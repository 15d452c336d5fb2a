//! `knee view`: the page of a recording with all of its detail, served on this machine. May import: `answer`, `index`,
//! `interrupt`, `sources`, `view`, report, `ui`.

use super::{answer, sources};
use crate::cli::View;
use crate::failure::{Failure, Status};
use crate::view::{Desk, Server};
use crate::{index, interrupt, ui};
use collect::Stop;
use std::io;
use std::process::{Command, Stdio};

pub(crate) fn run(options: &View) -> anyhow::Result<ui::Code> {
    if index::is_there(&options.folder) {
        let what = format!("{} holds several recordings, each with a page of its own", options.folder.display());
        return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
    }
    let tables = answer::tables(&options.folder)?;
    let answer = analyze::analyze(&tables);
    let folder = options.folder.to_string_lossy();
    let sources = sources::of(&answer, &tables);
    let subject = ::report::html::Subject { answer: &answer, tables: &tables, folder: &folder, sources: &sources };
    let desk = Desk::new(::report::html::serve(&subject)?);
    // What is served is drawn; the rows would only take memory for as long as somebody looks.
    drop((answer, tables));
    let server = Server::open(options.port).map_err(|error| refused(options.port, &error))?;
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let address = server.address();
    ui::out(|out| writeln!(out, "{address}"))?;
    ui::say("Open the address in a browser on this machine; only who knows it gets in. Ctrl-C ends it.");
    if options.open {
        open(&address);
    }
    server.run(&desk, &stop)?;
    Ok(ui::OK)
}

fn refused(port: u16, error: &io::Error) -> Failure {
    let status = if error.kind() == io::ErrorKind::PermissionDenied { Status::Permission } else { Status::Usage };
    Failure::new(status, format!("cannot listen on port {port} of 127.0.0.1: {error}"))
        .hint("without --port a free one is taken")
}

/// Opens the desktop's browser. That there is none is no failure: the address is printed.
fn open(address: &str) {
    let browser = Command::new("xdg-open").arg(address).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    match browser {
        Ok(mut child) => {
            // It ends as soon as the browser has taken the address over, or lives as long as the browser: a thread of its
            // own collects it without keeping anybody waiting.
            std::thread::spawn(move || child.wait());
        }
        Err(error) => ui::say(&format!("knee: cannot start xdg-open: {error}")),
    }
}
