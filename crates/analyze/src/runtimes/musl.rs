//! The musl C library: what it has beyond other C libraries.

use super::names::Names;
use super::runtime::Runtime;
use super::types::Theme;

/// The musl C library.
pub(super) struct Musl;

impl Runtime for Musl {
    fn names(&self) -> &'static Names {
        &NAMES
    }
}

static NAMES: Names =
    Names { c_themes: &[(Theme::Allocator, &["libc_malloc_impl"])], modules: &["libc.musl", "ld-musl"], ..Names::NONE };
