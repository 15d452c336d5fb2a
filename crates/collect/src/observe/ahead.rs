//! Loads the programs of the next observed run while something else goes on: the kernel takes some tenths of a second
//! to check them.

use crate::bpf::Programs;
use crate::error::Error;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Programs that are loaded, or being loaded, for the next observed run. Until that run they are not attached to
/// anything, so they cost no running program any time.
pub struct Ahead {
    state: Mutex<State>,
}

struct State {
    /// Runs for which nothing has been loaded yet.
    wanted: usize,
    loading: Option<JoinHandle<Result<Programs, Error>>>,
}

impl Ahead {
    /// For one observed run, until [`Ahead::expect`] knows better.
    pub fn new() -> Ahead {
        Ahead { state: Mutex::new(State { wanted: 1, loading: None }) }
    }

    /// So many runs will be observed with programs, counting the one that is loaded for. A run beyond them loads its
    /// programs itself.
    pub fn expect(&self, runs: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.wanted = runs.saturating_sub(usize::from(state.loading.is_some()));
    }

    /// Begins to load the programs of the next run, unless that has begun or no further run is expected.
    pub fn start(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.loading.is_none() && state.wanted > 0 {
            state.wanted -= 1;
            // Without another thread the run loads them itself.
            state.loading = std::thread::Builder::new().name("load".to_owned()).spawn(Programs::load).ok();
        }
    }

    /// The programs of a run, as soon as they are loaded.
    pub(super) fn take(&self) -> Result<Programs, Error> {
        let loading = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.loading.is_none() {
                state.wanted = state.wanted.saturating_sub(1);
            }
            state.loading.take()
        };
        match loading {
            Some(loading) => loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Programs::load(),
        }
    }
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead::new()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(loading) = state.loading.take() {
            // They are no longer needed. A failure to load them concerns no run that was made.
            let _ = loading.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(ahead: &Ahead) -> (usize, bool) {
        let state = ahead.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.wanted, state.loading.is_some())
    }

    #[test]
    fn nothing_is_loaded_where_no_run_is_expected() {
        let ahead = Ahead::new();
        ahead.expect(0);
        ahead.start();
        assert_eq!(wanted(&ahead), (0, false));
    }

    #[test]
    fn programs_are_loaded_once_for_each_run() {
        let ahead = Ahead::new();
        ahead.start();
        ahead.expect(2);
        ahead.start();
        assert_eq!(wanted(&ahead), (1, true));
        // Whether they can be loaded depends on the machine and on who asks.
        drop(ahead.take());
        assert_eq!(wanted(&ahead), (1, false));
        drop(ahead.take());
        ahead.start();
        assert_eq!(wanted(&ahead), (0, false));
    }
}
