//! `knee predict`: what more processors would bring.

use super::shared::answer;
use crate::cli::{Law, Predict, PredictionFormat};
use crate::failure::{Failure, Status};
use crate::index;
use crate::ui;
use analyze::model::Model;
use analyze::prediction::Ask;

pub(crate) fn run(options: &Predict) -> anyhow::Result<ui::Code> {
    let folder = &options.folder;
    if index::is_there(folder) {
        let what = format!("{} holds several recordings; predict is about one", folder.display());
        return Err(Failure::new(Status::Usage, what).hint("name the folder of one of them").into());
    }
    let tables = answer::tables_with(folder, options.primitives.as_deref())?;
    let model = Model::new(&tables);
    let analysis = analyze::analyze(&model);
    if analysis.answer.no_curve().is_some() {
        let what = format!("{} has no timed runs: what more processors would bring needs a sweep", folder.display());
        let hint = "knee sweep -t 1,2,4 -- COMMAND, with {threads} where the count goes";
        return Err(Failure::new(Status::Usage, what).hint(hint).into());
    }
    let ask = Ask { processors: options.processors.clone(), from: options.from, usl: options.model == Some(Law::Usl) };
    let prediction = analyze::predict(&analysis, &ask);
    ui::out(|mut out| match options.format {
        PredictionFormat::Text => ::report::terminal::render_prediction(&prediction, ui::style(), &mut out),
        PredictionFormat::Json => ::report::json::render(&prediction, &mut out),
        PredictionFormat::Markdown => ::report::markdown::render_prediction(&prediction, &mut out),
    })?;
    Ok(ui::OK)
}
