//! What each runtime answers; all but its names is optional.

use super::names::Names;
use super::types::{Advice, CallStack, Called, Exchange, Parked, Primitive, RuntimeLock};

/// One language's library, virtual machine or other runtime.
pub(super) trait Runtime: Sync {
    /// The table of its names.
    fn names(&self) -> &'static Names;

    /// What to try against the locks inside its functions.
    fn advice(&self) -> &'static [Advice] {
        &[]
    }

    /// What to try against time in an allocator. `module`: the file name of its module, where known. `gives_back`: it
    /// returns memory to the kernel.
    fn allocator_advice(&self, _module: Option<&str>, _gives_back: bool) -> &'static [&'static str] {
        &[]
    }

    /// True for the module (file name) of a virtual machine with a garbage collector.
    fn collects_garbage(&self, _module: &str) -> bool {
        false
    }

    /// True for the module (file name) of a virtual machine whose programs have packages.
    fn has_packages(&self, _module: &str) -> bool {
        false
    }

    /// True for the module (file name) of an interpreter: its functions stand for those of its program.
    fn is_interpreter(&self, _module: &str) -> bool {
        false
    }

    /// True for code that a virtual machine generated and that belongs to no function of the program.
    fn is_stub(&self, _name: &str) -> bool {
        false
    }

    /// Why a task scheduler's thread sleeps; `None` for any other thread.
    fn parked(&self, _stack: &CallStack<'_>) -> Option<Parked> {
        None
    }

    /// What a task gives back in this stack, if that is why a thread of the task scheduler is woken: another task waited
    /// for it.
    fn given_back(&self, _stack: &CallStack<'_>) -> Option<Primitive> {
        None
    }

    /// What a function of a task scheduler lets tasks do with each other.
    fn exchange(&self, _function: &str) -> Option<Exchange> {
        None
    }

    /// The runtime's own lock that is being taken in this stack.
    fn lock_taken(&self, _stack: &CallStack<'_>) -> Option<&'static RuntimeLock> {
        None
    }

    /// The kind of lock that the runtime provides for programs and that this function takes.
    fn lock_entered(&self, _called: Called<'_>) -> Option<&'static RuntimeLock> {
        None
    }

    /// For libraries in which one function waits for everything: what the rest of the stack says about the purpose.
    /// `Some(None)`: it says that the purpose is none of the primitives.
    fn primitive_behind(&self, _stack: &CallStack<'_>) -> Option<Option<Primitive>> {
        None
    }

    /// True where the stack waits for one of the locks that the runtime gives to programs, and nothing says that it
    /// serves as something else.
    fn is_lock_object(&self, _stack: &CallStack<'_>) -> bool {
        false
    }

    /// The primitive of a stack in which no function has the name of one.
    fn primitive_without_name(&self, _stack: &CallStack<'_>) -> Option<Primitive> {
        None
    }

    /// True where the stack's thread waits until the collector lets it go on, wherever that stopped it.
    fn stopped_by_collector(&self, _stack: &CallStack<'_>) -> bool {
        false
    }

    /// True for a function with which the runtime takes or releases locks and which jumps to its slow path, so that the
    /// slow path has the same return address.
    fn takes_lock(&self, _called: Called<'_>) -> bool {
        false
    }
}
