//! Rows that wait to be written, and when a part of them is written.

use crate::sharing::SharedRows;
use recording::tables::*;
use recording::{Error, Writer};

/// Bytes of a table's rows that are kept in memory before a part is written: tens of thousands of rows, so that a part
/// is worth opening, while the tables that grow come to 50 MiB together.
pub(crate) const PART: usize = 4 << 20;

/// Whether there are enough rows for a part.
pub(super) fn is_part<T>(rows: &[T]) -> bool {
    size_of_val(rows) >= PART
}

/// Sorts the rows and writes them when there are enough for a part. They are then dropped, even if writing failed: a
/// later attempt would fail too, and memory must not grow.
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
    // `clear` keeps the memory for the next rows.
    rows.clear();
    written
}

/// Keeps the order in which the rows came.
fn as_they_are<T>(_: &mut [T]) {}

/// Sorts by thread and time, like slices.
fn by_thread(calls: &mut [Call]) {
    calls.sort_by_key(|call| (call.thread, call.start_ns, call.end_ns));
}

macro_rules! rows {
    ($($(#[doc = $doc:literal])* $field:ident: $row:ident $order:ident,)*) => {
        /// Rows of all tables but the slices.
        #[derive(Debug, Default)]
        pub(crate) struct Rows {
            $($(#[doc = $doc])* pub(crate) $field: Vec<$row>,)*
        }

        impl Rows {
            /// Writes the tables that have enough rows for a part. All are tried; the first error counts.
            pub(super) fn write_parts(&mut self, writer: &mut Writer) -> Result<(), Error> {
                let mut result = Ok(());
                $(
                    let written = write_part(&mut self.$field, writer, $order);
                    result = result.and(written);
                )*
                result
            }

            /// Writes all.
            pub(super) fn write(mut self, writer: &mut Writer) -> Result<(), Error> {
                $(
                    $order(&mut self.$field);
                    writer.append(&self.$field)?;
                )*
                Ok(())
            }
        }
    };
}

rows! {
    traces: Trace as_they_are,
    /// Threads that have ended, or lived on at the end of the run.
    threads: Thread as_they_are,
    calls: Call by_thread,
    marks: Mark as_they_are,
    futexes: FutexOperation as_they_are,
    waits: Wait as_they_are,
    wakes: Wake as_they_are,
    syscalls: Syscall as_they_are,
    sites: CallSite as_they_are,
    durations: Duration as_they_are,
    locks: KernelLock as_they_are,
    peers: Peer as_they_are,
    faults: FaultSite as_they_are,
    foreign: Foreign as_they_are,
    samples: Sample as_they_are,
    parked_tasks: ParkedTasks as_they_are,
    accesses: Access as_they_are,
    spins: Spin as_they_are,
    confirmations: Confirmation as_they_are,
    variables: Variable as_they_are,
    runtime_bytes: RuntimeBytes as_they_are,
    losses: Loss as_they_are,
}

impl Rows {
    /// Adds what was found out about shared memory.
    pub(super) fn add_shared(&mut self, mut shared: SharedRows) {
        self.accesses.append(&mut shared.accesses);
        self.spins.append(&mut shared.spins);
        self.confirmations.append(&mut shared.confirmations);
        self.variables.append(&mut shared.variables);
        self.runtime_bytes.append(&mut shared.runtime_bytes);
        self.losses.append(&mut shared.losses);
    }
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
        rows.write(&mut writer).expect("room on the disk");
        let written = Recording::open(&path).and_then(|recording| recording.rows::<Thread>()).expect("a recording");
        assert!(written.iter().map(|row| row.thread.0).eq(1..=enough + 1));
    }
}
