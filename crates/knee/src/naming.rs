//! Variables that make virtual machines and interpreters, in observed runs, name the functions that they make at run time.
//!
//! .NET and Python have a variable that turns it on; Node.js and Mono have one that takes options. Java needs none, nor
//! does Python when its memory is read. Timed runs never get these variables. What the user sets, for the run or in
//! knee's own environment, is not changed.
//!
//! Imports nothing of the crate; from `analyze`, which programs only start others.

use analyze::runtimes::is_launcher;
use collect::Collector;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The runtimes that must be asked for the names of their code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    DotNet,
    Mono,
    Node,
    /// With the minor version, if it is in the name of its file.
    Python(Option<u32>),
}

/// Only a map of names. With 1, .NET 6 and newer also write a dump of all compiled code, for which threads wait
/// (`PerfMapType`, perfmap.h; tried with .NET Core 3.1, .NET 6 and .NET 8).
const DOTNET_NAMES: &str = "3";

/// The variable with Node.js options; it may already have others.
const NODE_OPTIONS: &str = "NODE_OPTIONS";
/// Names for compiled and for interpreted functions. `--perf-basic-prof` without `-only-functions` also writes a log
/// into the folder where the program runs (tried with Node.js 20).
const NODE_NAMES: &str = "--perf-basic-prof-only-functions --interpreted-frames-native-stack";

/// The variable with Mono's options, and the one that has it write a map file (mono(1)).
const MONO_OPTIONS: &str = "MONO_ENV_OPTIONS";
const MONO_NAMES: &str = "--jitmap";

/// What a shell or a launcher may start.
const ANY: [Asked; 4] = [Asked::DotNet, Asked::Mono, Asked::Python(None), Asked::Node];

/// How many bytes of a script's first line are read: as many as the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE: usize = 256;

/// Additional variables for a run of this command that `collector` observes; `own` are the run's own variables,
/// `inherited` looks up a variable of knee's own environment.
pub(crate) fn variables(
    argv: &[OsString],
    own: &[(OsString, OsString)],
    collector: Collector,
    inherited: impl Fn(&str) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let Some(program) = argv.first() else { return Vec::new() };
    let value = |name: &str| {
        let set = own.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        set.or_else(|| inherited(name))
    };
    let unless_set = |name: &str, set: &str| match value(name) {
        Some(_) => None,
        None => Some((name.into(), set.into())),
    };
    // Adds an option to a variable that may have others, unless it has one like it.
    let option = |name: &str, added: &str, like: &str| match value(name) {
        Some(options) if options.to_string_lossy().contains(like) => None,
        Some(mut options) => {
            options.push(" ");
            options.push(added);
            Some((name.into(), options))
        }
        None => Some((name.into(), added.into())),
    };
    let variable = |asked: Asked| match asked {
        // If the collector reads Python's frames and Python names them too, each function would be in the stacks twice.
        Asked::Python(minor) if collector.reads_python(minor) => None,
        Asked::Python(_) => unless_set("PYTHONPERFSUPPORT", "1"),
        // .NET Core 2 to 5 know only the older name, and every later version still knows it.
        Asked::DotNet if value("DOTNET_PerfMapEnabled").is_some() => None,
        Asked::DotNet => unless_set("COMPlus_PerfMapEnabled", DOTNET_NAMES),
        Asked::Mono => option(MONO_OPTIONS, MONO_NAMES, MONO_NAMES),
        Asked::Node => option(NODE_OPTIONS, NODE_NAMES, "--perf-"),
    };
    runtimes(program, inherited("PATH")).into_iter().filter_map(variable).collect()
}

/// The runtimes that a program is or starts, judged by its name, by the file that the name leads to, and by a script's
/// first line. What a shell script or a launcher will start is unknown: it may be any of them.
fn runtimes(program: &OsStr, search_path: Option<OsString>) -> Vec<Asked> {
    let path = found(program, search_path.as_deref());
    let real = path.as_ref().and_then(|path| path.canonicalize().ok());
    let names = [Some(Path::new(program)), real.as_deref()];
    // The last match is the most exact: `python3` leads to `python3.14`.
    let file_names = || names.into_iter().flatten().filter_map(|path| path.file_name()?.to_str());
    if let Some(named) = file_names().filter_map(by_name).next_back() {
        return vec![named];
    }
    if file_names().any(is_launcher) {
        return ANY.to_vec();
    }
    let Some(path) = path else { return Vec::new() };
    let mut settings = path.clone().into_os_string();
    settings.push(".runtimeconfig.json");
    if Path::new(&settings).is_file() { vec![Asked::DotNet] } else { by_first_line(&path) }
}

/// Where execvp(3) would find the program.
fn found(program: &OsStr, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if program.to_string_lossy().contains('/') {
        return Some(PathBuf::from(program));
    }
    std::env::split_paths(search_path?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn by_name(name: &str) -> Option<Asked> {
    let version = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b't'))
    };
    match name {
        "dotnet" => Some(Asked::DotNet),
        // Mono can be registered with the kernel as the interpreter of .exe files (binfmt_misc).
        "mono" | "mono-sgen" => Some(Asked::Mono),
        _ if name.ends_with(".exe") => Some(Asked::Mono),
        "node" | "nodejs" => Some(Asked::Node),
        _ if version("python") => {
            Some(Asked::Python(name.strip_prefix("python3.").and_then(|minor| minor.parse().ok())))
        }
        _ => None,
    }
}

/// The interpreter of a script, or what it starts: `#!/usr/bin/python3`, `#!/usr/bin/env node`, `#!/bin/sh`.
fn by_first_line(path: &Path) -> Vec<Asked> {
    let Some(line) = first_line(path) else { return Vec::new() };
    let words = || line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    match words().find_map(by_name) {
        Some(named) => vec![named],
        None if words().any(is_launcher) => ANY.to_vec(),
        None => Vec::new(),
    }
}

/// The text after `#!` in a script's first line.
fn first_line(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(FIRST_LINE as u64).read_to_end(&mut text).ok()?;
    let line = text.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_bpf(program: &str, own: &[(&str, &str)], around: &[(&str, &str)]) -> Vec<String> {
        observed(Collector::Perf, program, own, around)
    }

    fn observed(by: Collector, program: &str, own: &[(&str, &str)], around: &[(&str, &str)]) -> Vec<String> {
        let own: Vec<(OsString, OsString)> = own.iter().map(|(n, v)| (n.into(), v.into())).collect();
        let around = |name: &str| around.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let set = variables(&[program.into(), "x".into()], &own, by, around);
        set.iter().map(|(n, v)| format!("{}={}", n.to_string_lossy(), v.to_string_lossy())).collect()
    }

    #[test]
    fn each_runtime_is_asked_in_its_own_way() {
        assert_eq!(without_bpf("/opt/dotnet/dotnet", &[], &[]), ["COMPlus_PerfMapEnabled=3"]);
        assert_eq!(without_bpf("python3.12", &[], &[]), ["PYTHONPERFSUPPORT=1"]);
        assert_eq!(without_bpf("node", &[], &[]), [format!("NODE_OPTIONS={NODE_NAMES}")]);
        assert_eq!(without_bpf("mono", &[], &[]), ["MONO_ENV_OPTIONS=--jitmap"]);
        assert_eq!(
            without_bpf("./shop.exe", &[], &[("MONO_ENV_OPTIONS", "--server")]),
            ["MONO_ENV_OPTIONS=--server --jitmap"]
        );
        assert!(without_bpf("./app", &[], &[]).is_empty() && without_bpf("pythonic", &[], &[]).is_empty());
    }

    #[test]
    fn python_gets_no_variable_where_its_memory_is_read() {
        assert!(observed(Collector::Bpf, "python3.12", &[], &[]).is_empty());
        assert!(observed(Collector::Bpf, "no-such-folder/python3", &[], &[]).is_empty(), "any version that is known");
        assert_eq!(observed(Collector::Bpf, "python3.14", &[], &[]), ["PYTHONPERFSUPPORT=1"]);
        assert_eq!(observed(Collector::Bpf, "node", &[], &[]).len(), 1);
    }

    #[test]
    fn variables_that_the_user_sets_are_kept() {
        assert!(without_bpf("dotnet", &[("DOTNET_PerfMapEnabled", "0")], &[]).is_empty());
        assert!(without_bpf("python3", &[], &[("PYTHONPERFSUPPORT", "0")]).is_empty());
        let kept = without_bpf("node", &[], &[("NODE_OPTIONS", "--max-old-space-size=512")]);
        assert_eq!(kept, [format!("NODE_OPTIONS=--max-old-space-size=512 {NODE_NAMES}")]);
        assert!(without_bpf("node", &[("NODE_OPTIONS", "--perf-prof")], &[]).is_empty());
    }

    #[test]
    fn scripts_and_published_programs_are_known_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        assert_eq!(without_bpf(&write("tool", "#!/usr/bin/env node\n"), &[], &[]).len(), 1);
        assert_eq!(without_bpf(&write("job", "#!/usr/bin/python3 -u\n"), &[], &[]), ["PYTHONPERFSUPPORT=1"]);
        let any = [
            "COMPlus_PerfMapEnabled=3".to_owned(),
            "MONO_ENV_OPTIONS=--jitmap".to_owned(),
            "PYTHONPERFSUPPORT=1".to_owned(),
            format!("NODE_OPTIONS={NODE_NAMES}"),
        ];
        assert_eq!(without_bpf(&write("start", "#!/bin/sh\nexec node x\n"), &[], &[]), any);
        assert_eq!(without_bpf("timeout", &[], &[]), any);
        assert!(without_bpf(&write("other", "#!/usr/bin/perl\n"), &[], &[]).is_empty());
        let app = write("Shop", "\u{7f}ELF");
        assert!(without_bpf(&app, &[], &[]).is_empty());
        write("Shop.runtimeconfig.json", "{}");
        assert_eq!(without_bpf(&app, &[], &[]), ["COMPlus_PerfMapEnabled=3"]);
        let found = without_bpf("job", &[], &[("PATH", &folder.path().to_string_lossy())]);
        assert_eq!(found, ["PYTHONPERFSUPPORT=1"]);
    }
}
