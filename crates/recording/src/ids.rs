//! Handles that tie the tables together: a `ThreadId` is never confused with a `StackId`.
//!
//! All are small numbers that the collector gives out, unique in one recording, except [`ThreadId`], [`WaitId`]
//! and [`SiteId`], which are unique in one run.

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

handles! {
    /// One execution of the target.
    RunId;
    /// One thread of one run. Unlike a tid it is never reused within the run.
    ThreadId;
    /// One place where one thread of one run waited: a row of `waits`.
    WaitId;
    /// One place where one thread of one run makes a system call: a row of `call_sites`.
    SiteId;
    /// One call stack, by its innermost frame: a row of `stacks`.
    StackId;
    /// One code address: the rows of `frames` that share it are the functions inlined there.
    FrameId;
    /// One mapped file, the kernel, or code without a file: a row of `modules`.
    ModuleId;
}
