//! Ctrl-C and similar signals: the first asks the sweep to finish with what it has, the second ends knee at once.

use anyhow::Context;
use collect::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Lets the signals set `stop` from now on.
pub(crate) fn listen(stop: &Stop) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("failed to listen for Ctrl-C")?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // Ending the process needs no privileges. If dropping them fails here, nothing more can be done.
            let _ = collect::rights::keep_for(collect::rights::Task::Reading);
            for signal in signals.forever() {
                if stop.requested() {
                    // This ends the process. If it fails, the first request still holds.
                    let _ = emulate_default_handler(signal);
                }
                stop.request();
            }
        })
        .map_err(collect::Error::Thread)
        .context("failed to listen for Ctrl-C")?;
    Ok(())
}
