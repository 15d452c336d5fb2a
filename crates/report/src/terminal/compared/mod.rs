//! Runs compared with other runs. Rooms: `recordings` the page of `knee diff`; `pair` that of `knee compare`; `experiment` that
//! of `knee try`.
//!
//! May import: `experiment`, `pair`, `terminal`, `text`, `words`, `analyze`, `recording`.

mod experiment;
mod pair;
mod recordings;

pub use experiment::render as render_experiment;
pub use pair::render as render_pair;
pub use recordings::render as render_comparison;
