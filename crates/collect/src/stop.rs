//! The user's wish to stop, seen by every loop that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag shared by all clones. Once set it stays set.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Sets it. Safe to call from a signal handler's thread.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it is set.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
