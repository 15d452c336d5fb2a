//! Writes the pages that the browser's tests look at: `pages DIR`, and in DIR/recording one for `knee view`. Recordings
//! named behind it get a page each, too.

#[path = "../tests/common/hostile.rs"]
mod hostile;

#[path = "../tests/common/cases.rs"]
mod cases;

use report::html::cases::{Cases, Pages};
use report::html::sources::Sources;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().ok_or("usage: pages DIR [RECORDING ...]")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut pages = vec![
        ("hostile".to_owned(), hostile::hostile()),
        ("many".to_owned(), hostile::many(64, 400)),
        ("empty".to_owned(), recording::Tables::empty(recording::synthetic::meta(2))),
    ];
    for recording in arguments {
        let name = Path::new(&recording).file_name().unwrap_or_default().to_string_lossy().into_owned();
        pages.push((name, recording::Recording::open(&recording)?.tables()?));
    }
    for (name, tables) in pages {
        let answer = analyze::analyze(&tables);
        let mut out = Vec::new();
        let subject =
            report::html::Subject { answer: &answer, tables: &tables, folder: &name, sources: &Sources::default() };
        report::html::render(&subject, &mut out)?;
        std::fs::write(folder.join(format!("{name}.html")), out)?;
    }
    for (name, comparison) in
        [("cases", cases::variants()), ("cases-map", cases::families()), ("cases-hostile", cases::hostile())]
    {
        let mut out = Vec::new();
        report::html::cases::render(
            &Cases { comparison: &comparison, folder: name, pages: Pages::Files(""), found: "" },
            &mut out,
        )?;
        std::fs::write(folder.join(format!("{name}.html")), out)?;
    }
    hostile::many(64, 2000).write(folder.join("recording"))?;
    Ok(())
}
