//! `knee compare`: two commands, their runs interleaved.

use super::sweep;
use crate::cli::Compare;
use crate::gate::Gate;
use crate::job;
use crate::ui;

pub(crate) fn run(options: &Compare) -> anyhow::Result<ui::Code> {
    let processors = collect::machine::machine().usable_processors.max(1);
    let gate = options.fail_if_slower.map_or(Gate::Open, Gate::Slower);
    sweep::carry_out(
        &job::of_pair(options, processors)?,
        (&options.making, &options.observing),
        &gate,
        options.fail_if_unsure,
    )
}
