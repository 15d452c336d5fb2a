//! A function at an address, as its compiler described it.

/// One function at an address; each inlined function there is one more.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// The name, mangled when the compiler recorded that.
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}
