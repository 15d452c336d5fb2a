//! What a futex wait is for.

use crate::runtimes::Primitive;

/// What a futex wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// A lock.
    Lock,
    /// A condition, a queue, or a call to go on.
    Condition,
    /// The arrival of all others.
    Barrier,
    /// The end of a thread.
    Join,
    /// A time. Virtual machines sleep at a condition that nobody signals.
    Sleep,
    /// Not known.
    Unknown,
}

impl From<Primitive> for Purpose {
    fn from(primitive: Primitive) -> Purpose {
        match primitive {
            Primitive::Lock | Primitive::Pool => Purpose::Lock,
            Primitive::Condition => Purpose::Condition,
            Primitive::Barrier => Purpose::Barrier,
            Primitive::Join => Purpose::Join,
            Primitive::Sleep => Purpose::Sleep,
        }
    }
}
