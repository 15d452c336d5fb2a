//! Writes the rows of one run into a recording.

use crate::build::Builder;
use crate::error::Error;
use crate::stacks::Stacks;
use recording::Writer;

/// Writes while the run goes on, so that memory does not grow with the length of the run.
pub(crate) struct Recorder<'w> {
    writer: &'w mut Writer,
    failed: Option<recording::Error>,
}

impl<'w> Recorder<'w> {
    pub(crate) fn new(writer: &'w mut Writer) -> Recorder<'w> {
        Recorder { writer, failed: None }
    }

    /// Writes the tables that have enough rows for a part.
    pub(crate) fn write_parts(&mut self, rows: &mut Builder) {
        // The target goes on, and the first failure is reported at its end; later failures would only repeat it.
        if let Err(error) = rows.write_parts(self.writer) {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes what is left, and the names of all new stacks.
    pub(crate) fn finish(self, rows: Builder, stacks: Stacks<'_>) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        rows.write(self.writer)?;
        let (stacks, frames, modules) = stacks.last_rows();
        self.writer.append(&stacks)?;
        self.writer.append(&frames)?;
        Ok(self.writer.append(&modules)?)
    }
}
