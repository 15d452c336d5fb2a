//! `knee report`: computes the answer of a recording, or the comparison of a sweep's cases, again.

use super::shared::{answer, pair, side_by_side, trials};
use crate::cli::Report;
use crate::failure::{Failure, Status};
use crate::index::{self, Question};
use crate::ui;
use anyhow::Context;
use std::fs;

pub(crate) fn run(options: &Report) -> anyhow::Result<ui::Code> {
    if index::is_there(&options.folder) {
        let folder = &options.folder;
        if options.primitives.is_some() {
            let what = format!("{} holds several recordings; --primitives is for one", folder.display());
            return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
        }
        if options.card.is_some() {
            let what = format!("{} holds several recordings; --card is for one", folder.display());
            return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
        }
        match (index::read(folder)?.question, &options.html) {
            (Question::Cases, Some(file)) => {
                side_by_side::write_page(&side_by_side::compare_cases(folder)?, folder, file)?
            }
            (Question::Cases, None) => {
                side_by_side::print(&side_by_side::compare_cases(folder)?, folder, options.format)?
            }
            (Question::Compare | Question::Noise, Some(_)) => {
                let what = format!("{} compares two commands, each with a page of its own", folder.display());
                return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
            }
            (Question::Compare | Question::Noise, None) => {
                pair::print(&pair::compare_pair(folder)?, folder, options.format)?;
            }
            (Question::Try, Some(_)) => {
                let what = format!("{} holds trials, which have no page", folder.display());
                return Err(Failure::new(Status::Usage, what).hint("knee report without --html shows them").into());
            }
            (Question::Try, None) => trials::print(&trials::experiment_of(folder)?, folder, options.format)?,
        }
        return Ok(ui::OK);
    }
    if let Some(file) = &options.html {
        answer::write_page(&options.folder, options.primitives.as_deref(), file)?;
        return Ok(ui::OK);
    }
    let answer = answer::answer_of(&options.folder, options.primitives.as_deref())?;
    if let Some(file) = &options.card {
        let mut picture = Vec::new();
        ::report::html::card::render(&answer, &mut picture)?;
        fs::write(file, picture).with_context(|| format!("failed to write {}", file.display()))?;
        return Ok(ui::OK);
    }
    answer::print(&answer, &options.folder, options.format)?;
    Ok(ui::OK)
}
