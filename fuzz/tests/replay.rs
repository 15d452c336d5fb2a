//! Runs every kept input without an engine: a fault that was found once must not come back.

use std::fs;
use std::path::Path;

#[test]
fn no_kept_input_does_harm() {
    for (name, target) in fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut inputs: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.expect("an entry").path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{}", folder.display());
        for input in inputs {
            println!("{}", input.display());
            let bytes = fs::read(&input).expect("an input");
            target(&bytes);
            // Cut at several places: most readers fail in the middle of something.
            for part in 1..8 {
                target(&bytes[..bytes.len() * part / 8]);
            }
        }
    }
}
