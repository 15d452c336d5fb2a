//! What each runtime answers, and how little it has to.

use super::names::Names;
use super::types::{Advice, CallStack, Called, Parked, Primitive, RuntimeLock};

/// One language's library, virtual machine or other runtime.
pub(super) trait Runtime: Sync {
    /// What its functions' names tell.
    fn names(&self) -> &'static Names;

    /// What to try against the locks inside its functions.
    fn advice(&self) -> &'static [Advice] {
        &[]
    }

    /// True for code that is no function's: a virtual machine made it, and the program's functions run around it.
    fn is_stub(&self, _name: &str) -> bool {
        false
    }

    /// What a thread of a task scheduler had done before it slept; none for any other thread.
    fn parked(&self, _stack: &CallStack<'_>) -> Option<Parked> {
        None
    }

    /// The lock of the runtime itself that is taken in this stack.
    fn lock_taken(&self, _stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
        None
    }

    /// The lock that the runtime has for its programs and enters in this function.
    fn lock_entered(&self, _called: Called<'_>) -> Option<&'static RuntimeLock> {
        None
    }

    /// Where threads wait in one function for all that the library offers: what the rest of the stack says that it is for.
    fn primitive_behind(&self, _stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        None
    }

    /// What a stack is in when no function in it has the name of a primitive.
    fn primitive_without_name(&self, _stack: &CallStack<'_>) -> Option<Primitive> {
        None
    }

    /// True for a function with which the runtime takes or releases locks by a jump, so that the slow path has the same
    /// return address.
    fn takes_lock(&self, _called: Called<'_>) -> bool {
        false
    }
}
