//! .NET: the threads that its runtime starts for itself.

use crate::runtimes::names::Names;
use crate::runtimes::runtime::Runtime;
use crate::runtimes::types::Service;

/// .NET.
pub(crate) struct DotNet;

impl Runtime for DotNet {
    fn names(&self) -> &'static Names {
        &NAMES
    }
}

static NAMES: Names = Names {
    // CoreCLR's, of .NET 6 to 9 (tieredcompilation.cpp, gcenv.ee.cpp, finalizerthread.cpp).
    service_threads: &[
        (".NET Tiered Com", Service::Compiler),
        (".NET Server GC", Service::Collector),
        (".NET BGC", Service::Collector),
        (".NET Finalizer", Service::Other),
        (".NET SigHandler", Service::Other),
        (".NET SynchManag", Service::Other),
        (".NET EventPipe", Service::Other),
        (".NET TP Gate", Service::Other),
        (".NET Timer", Service::Other),
    ],
    ..Names::NONE
};
