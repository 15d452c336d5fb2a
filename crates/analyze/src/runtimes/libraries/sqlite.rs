//! SQLite: one connection at a time may write to a database. The others look again after a pause, if they were told to
//! (`sqlite3_busy_timeout`), so that a wait for this lock is a sleep by the clock inside the library.

use crate::runtimes::function_name::plain;
use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::{CallStack, Called, RuntimeLock};

/// SQLite, as a shared library or linked into something else.
pub(crate) struct Sqlite;

impl Runtime for Sqlite {
    fn names(&self) -> &'static Names {
        &Names::NONE
    }

    /// The library sleeps at two places only (`unixSleep` in src/os_unix.c): in its busy handler and in
    /// `sqlite3_sleep`, which a program calls to sleep.
    fn lock_taken(&self, stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
        let library = stack.in_library();
        let sleeps = library.iter().take_while(|c| is_sleep(c)).count();
        let inside = sleeps > 0 && library.get(sleeps).is_some_and(is_sqlite);
        let named = library.iter().any(|c| plain(c.name).ends_with("sqliteDefaultBusyCallback"));
        let asked = || stack.functions.iter().any(|c| plain(c.name).ends_with("sqlite3_sleep"));
        ((inside || named) && !asked()).then_some(&DATABASE)
    }
}

/// True for the C library's ways to sleep by the clock.
fn is_sleep(called: &Called<'_>) -> bool {
    let name = plain(called.name);
    ["nanosleep", "usleep", "__nanosleep"].contains(&name) || name.contains("clock_nanosleep")
}

/// The library itself, or the one that Node.js or Java loads; linked into a program, its function has a name.
fn is_sqlite(called: &Called<'_>) -> bool {
    let libraries = ["libsqlite3", "better_sqlite3", "node_sqlite3", "libsqlitejdbc"];
    libraries.iter().any(|name| called.module.contains(name)) || plain(called.name).ends_with("unixSleep")
}

static DATABASE: RuntimeLock = RuntimeLock {
    called: "SQLite's write lock on the database file",
    taken_by_program: true,
    only_one: false,
    remedies: REMEDIES,
    beside_processes: REMEDIES,
    disproved_by: None,
};

const REMEDIES: &[&str] = &[
    "keep a transaction that writes as short as possible: compute before it begins, and commit at once",
    "or let one thread write what the others hand to it, many rows in one transaction",
    "readers do not wait for a writer with journal_mode=WAL",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(stack: &[(&str, &str)], library: usize) -> bool {
        let functions: Vec<Called> = stack.iter().map(|(name, module)| Called { name, module }).collect();
        Sqlite.lock_taken(&CallStack { functions: &functions, library, at_lock_call: false }).is_some()
    }

    #[test]
    fn a_sleep_in_the_busy_handler_is_a_wait_for_the_database() {
        let libc = [("clock_nanosleep", "libc.so.6"), ("nanosleep", "libc.so.6"), ("usleep", "libc.so.6")];
        let behind = |rest: &[(&'static str, &'static str)]| -> bool {
            let stack: Vec<_> = libc.iter().copied().chain(rest.iter().copied()).collect();
            waits(&stack, stack.len() - 1)
        };
        let step = ("sqlite3_step", "libsqlite3.so.0.8.6");
        assert!(behind(&[("", "libsqlite3.so.0.8.6"), step, ("store", "app")]));
        assert!(behind(&[("unixSleep", "app"), ("sqliteDefaultBusyCallback", "app"), ("store", "app")]));
        assert!(behind(&[("", "better_sqlite3.node"), ("run", "app.js")]));
        assert!(!behind(&[("", "libsqlite3.so.0.8.6"), ("sqlite3_sleep", "libsqlite3.so.0.8.6"), ("wait", "app")]));
        assert!(!behind(&[("store", "app")]), "the program's own sleep");
        assert!(!behind(&[("retry", "libmysqlclient.so.21"), ("store", "app")]), "another library's sleep");
        assert!(!waits(&[("fdatasync", "libc.so.6"), step, ("store", "app")], 2), "no sleep");
    }
}
