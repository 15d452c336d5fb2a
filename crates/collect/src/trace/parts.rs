//! Rows that wait to be written, and when a part of them is.
//!
//! May import: `recording`.

use recording::tables::*;
use recording::{Error, Writer};

/// Rows of a table that are kept in memory before a part is written, bytes: tens of thousands of rows, so that a part is
/// worth opening, while the thirteen tables that grow come to 50 MiB together.
pub(super) const PART: usize = 4 << 20;

/// Whether rows are worth a part.
pub(super) fn is_part<T>(rows: &[T]) -> bool {
    size_of_val(rows) >= PART
}

/// Puts rows in order and writes them when they are worth a part, and forgets them, also when that failed: what cannot be
/// written now cannot be later, and must not grow.
pub(super) fn write_part<T: Table>(
    rows: &mut Vec<T>,
    writer: &mut Writer,
    order: impl Fn(&mut [T]),
) -> Result<(), Error> {
    if !is_part(rows) {
        return Ok(());
    }
    order(rows);
    let written = writer.append(rows);
    // The room is kept for the next ones.
    rows.clear();
    written
}

/// The order in which they came.
pub(super) fn as_they_are<T>(_: &mut [T]) {}

macro_rules! rows {
    ($($(#[doc = $doc:literal])* $field:ident: $row:ident,)*) => {
        /// Rows of the tables that are made when threads have ended.
        #[derive(Debug, Default)]
        pub(super) struct Rows {
            $($(#[doc = $doc])* pub(super) $field: Vec<$row>,)*
        }

        impl Rows {
            /// Adds the rows of another.
            pub(super) fn extend(&mut self, mut more: Rows) {
                $(self.$field.append(&mut more.$field);)*
            }

            /// Writes the tables that are worth a part. The first error counts.
            pub(super) fn write_parts(&mut self, writer: &mut Writer) -> Result<(), Error> {
                let mut result = Ok(());
                $(result = result.and(write_part(&mut self.$field, writer, as_they_are));)*
                result
            }

            /// Writes all.
            pub(super) fn append(self, writer: &mut Writer) -> Result<(), Error> {
                $(writer.append(&self.$field)?;)*
                Ok(())
            }
        }
    };
}

rows! {
    /// Threads that have ended, or lived on at the end of the run.
    threads: Thread,
    futexes: FutexOperation,
    waits: Wait,
    wakes: Wake,
    syscalls: Syscall,
    sites: CallSite,
    durations: Duration,
    locks: KernelLock,
    faults: FaultSite,
    foreign: Foreign,
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{Recording, RunId, ThreadId, synthetic};

    #[test]
    fn a_part_is_written_when_there_is_enough_for_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let mut writer = Writer::create(&path, &synthetic::meta(1)).expect("an empty folder");
        let row = |thread| Thread::blank(RunId(0), ThreadId(thread));
        let enough = PART.div_ceil(size_of::<Thread>()) as u32;
        let mut rows = Rows { threads: (1..enough).map(row).collect(), ..Rows::default() };
        rows.write_parts(&mut writer).expect("nothing to write");
        assert_eq!(rows.threads.len() as u32, enough - 1);
        rows.threads.push(row(enough));
        rows.write_parts(&mut writer).expect("room on the disk");
        assert!(rows.threads.is_empty());
        rows.threads.push(row(enough + 1));
        rows.append(&mut writer).expect("room on the disk");
        let written = Recording::open(&path).and_then(|recording| recording.rows::<Thread>()).expect("a recording");
        assert!(written.iter().map(|row| row.thread.0).eq(1..=enough + 1));
    }
}
