//! Writes the synthetic pages that the browser tests look at: `pages DIR`. It also writes a recording for `knee view`
//! to DIR/recording. The pages of kept recordings are made by knee itself.

#[path = "../tests/common/hostile.rs"]
mod hostile;

#[path = "../tests/common/cases.rs"]
mod cases;

use report::html::cases::{Cases, Pages};
use report::html::sources::Sources;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: pages DIR")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for (name, tables) in [
        ("hostile", hostile::hostile()),
        ("many", hostile::many(64, 400)),
        ("alone", hostile::alone()),
        ("empty", recording::Tables::empty(recording::synthetic::meta(2))),
    ] {
        let model = analyze::model::Model::new(&tables);
        let analysis = analyze::analyze(&model);
        let mut out = Vec::new();
        let subject = report::html::Subject { analysis: &analysis, folder: name, sources: &Sources::default() };
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
