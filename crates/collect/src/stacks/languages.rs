//! Notes for the user: which runtimes need help to name their functions, and how many stacks are incomplete.

use recording::FrameId;
use resolve::{MappedFile, Mapping, Truncation};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A note is written when more than one stack in this many broke off: callers are then missing where causes look for
/// them. Below that, the recording's losses, which count every such stack, are enough.
///
/// Decides: whether a note says that stacks of a program broke off.
/// From: chosen; fewer are in the losses of the recording.
/// Wrong if: the stacks that broke off are those of the one place that matters.
const ONE_IN: u64 = 10;
/// With fewer stacks than this, the share of those that broke off means nothing: if one of ten broke off, its thread
/// may just have been starting.
///
/// Decides: from how many stacks of a program on a note may say that stacks broke off.
/// From: chosen: of ten stacks, one may be of a thread that was just starting.
/// Wrong if: a short run has fewer stacks than this, and most of them broke off.
const FEWEST: u64 = 50;

/// A language whose functions are not in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Language {
    Java,
    Node,
    Python,
    DotNet,
}

impl Language {
    /// The language of a process, judging by its program and its mapped libraries.
    pub(crate) fn from_mappings(mappings: &[Mapping]) -> Option<Language> {
        let files = mappings.iter().filter(|mapping| mapping.executable).filter_map(|mapping| match &mapping.path {
            MappedFile::File(path) => path.file_name()?.to_str(),
            _ => None,
        });
        files.filter_map(Language::by_file).min()
    }

    fn by_file(name: &str) -> Option<Language> {
        let versioned = |prefix| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        };
        match name {
            "libjvm.so" => Some(Language::Java),
            "node" | "nodejs" => Some(Language::Node),
            "libcoreclr.so" => Some(Language::DotNet),
            _ if name.starts_with("libnode.so") => Some(Language::Node),
            _ if name.starts_with("libpython") || versioned("python") => Some(Language::Python),
            _ => None,
        }
    }

    /// How to make a program of this language reveal the names of its functions.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Language::Java => {
                "Java functions have no names in this recording: run with --env \
                 'JAVA_TOOL_OPTIONS=-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer' \
                 (JDK 17 or newer)"
            }
            Language::Node => {
                "JavaScript functions have no names in this recording: run with --env \
                 'NODE_OPTIONS=--perf-basic-prof-only-functions --interpreted-frames-native-stack'"
            }
            Language::Python => {
                "Python functions have no names in this recording, only those of the interpreter: Python 3.8 to 3.13 is read \
                 as root; others from 3.12 on tell the names with --env PYTHONPERFSUPPORT=1"
            }
            Language::DotNet => {
                "functions of .NET have no names in this recording: run with --env DOTNET_PerfMapEnabled=3"
            }
        }
    }
}

/// What happened with the stacks of a program.
#[derive(Debug, Default)]
struct Tally {
    stacks: u64,
    cut: u64,
    /// How many broke off, by the frame at which they did and by the reason.
    cut_at: HashMap<(FrameId, Truncation), u64>,
    language: Option<Language>,
    named: u64,
    unnamed: u64,
}

/// Counts, by program, how stacks end and whether frames in run-time code have names.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    programs: BTreeMap<String, Tally>,
    /// Stacks that broke off because their process had ended before its memory map was read.
    ended: u64,
}

impl Notes {
    /// Counts a stack that broke off because its process had ended before its memory map was read.
    pub(crate) fn count_ended(&mut self) {
        self.ended += 1;
    }

    /// Counts an unwound stack, and where it broke off, if it did.
    pub(crate) fn count(
        &mut self,
        program: Option<&Path>,
        language: Option<Language>,
        cut_at: Option<(FrameId, Truncation)>,
    ) {
        let tally = self.tally(program);
        tally.stacks += 1;
        tally.language = tally.language.or(language);
        if let Some(cut_at) = cut_at {
            tally.cut += 1;
            *tally.cut_at.entry(cut_at).or_default() += 1;
        }
    }

    /// Counts a function of run-time code, with or without a name.
    pub(crate) fn name(&mut self, program: &str, named: bool) {
        let tally = self.programs.entry(program.to_owned()).or_default();
        *(if named { &mut tally.named } else { &mut tally.unnamed }) += 1;
    }

    fn tally(&mut self, program: Option<&Path>) -> &mut Tally {
        let name = file_name(program);
        if !self.programs.contains_key(&name) {
            self.programs.insert(name.clone(), Tally::default());
        }
        self.programs.entry(name).or_default()
    }

    /// Sentences for the user. `module_of` gives the module that a frame lies in.
    pub(crate) fn sentences(&self, module_of: impl Fn(FrameId) -> String) -> Vec<String> {
        let mut sentences: Vec<String> = Vec::new();
        for (program, tally) in &self.programs {
            let without_names = match tally.language {
                // The interpreter's own frames lie in a file. If there is no run-time name at all, names are not
                // available.
                Some(Language::Python) => tally.named == 0,
                _ => tally.unnamed > tally.named,
            };
            if let Some(language) = tally.language.filter(|_| without_names) {
                sentences.push(language.advice().to_owned());
            }
            if tally.stacks >= FEWEST && tally.cut * ONE_IN > tally.stacks {
                let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
                for ((frame, why), count) in &tally.cut_at {
                    *reasons.entry(reason(*why, &module_of(*frame))).or_default() += count;
                }
                let most = reasons.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
                sentences.push(format!(
                    "{} % of the stacks of {program} break off before the thread's start ({} of {}), most because {}; \
                     callers are missing there",
                    tally.cut * 100 / tally.stacks,
                    tally.cut,
                    tally.stacks,
                    most.0,
                ));
            }
        }
        let all = self.ended + self.programs.values().map(|tally| tally.stacks).sum::<u64>();
        if all >= FEWEST && self.ended * ONE_IN > all {
            sentences.push(format!(
                "{} % of the stacks are of processes that ended before it was known where their code lies ({} of {all}), \
                 such as a shell's short commands; callers are missing there",
                self.ended * 100 / all,
                self.ended
            ));
        }
        sentences.dedup();
        sentences
    }
}

/// Why stacks broke off in a module, in words.
fn reason(why: Truncation, module: &str) -> String {
    match why {
        Truncation::OutOfBytes => "they are longer than what is copied of them".to_owned(),
        Truncation::NoModule | Truncation::BadFrame => {
            format!("{module} has neither unwind information nor frame pointers")
        }
        Truncation::OtherStack => "the thread changes its stack".to_owned(),
        Truncation::TooDeep => "they have more frames than are followed".to_owned(),
    }
}

/// The last part of a program's path.
pub(crate) fn file_name(program: Option<&Path>) -> String {
    let name = program.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "an unknown program".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use resolve::parse_maps;

    fn language(maps: &str) -> Option<Language> {
        Language::from_mappings(&parse_maps(maps).unwrap())
    }

    #[test]
    fn languages_are_known_by_program_and_libraries() {
        assert_eq!(language("1000-2000 r-xp 0 8:1 5 /usr/bin/python3.11"), Some(Language::Python));
        assert_eq!(language("1000-2000 r-xp 0 8:1 5 /usr/lib/libpython3.13.so.1.0"), Some(Language::Python));
        assert_eq!(language("1000-2000 r-xp 0 8:1 5 /usr/lib/jvm/lib/server/libjvm.so"), Some(Language::Java));
        assert_eq!(language("1000-2000 r-xp 0 8:1 5 /usr/bin/node"), Some(Language::Node));
        assert_eq!(language("1000-2000 r-xp 0 8:1 5 /usr/bin/python-config"), None);
        assert_eq!(language("1000-2000 rw-p 0 8:1 5 /data/node"), None, "no code");
    }

    #[test]
    fn missing_names_and_broken_stacks_become_sentences() {
        let mut notes = Notes::default();
        let program = Path::new("/usr/bin/java");
        for i in 0..100 {
            notes.count(
                Some(program),
                Some(Language::Java),
                (i < 30).then_some((FrameId(i % 2), Truncation::NoModule)),
            );
            notes.name("java", i < 40);
        }
        notes.count(Some(Path::new("/bin/ls")), None, Some((FrameId(0), Truncation::BadFrame)));
        let sentences = notes.sentences(|frame| format!("module {}", if frame.0 == 1 { "b" } else { "a" }));
        assert_eq!(sentences.len(), 2, "{sentences:?}");
        assert!(sentences[0].contains("DumpPerfMapAtExit"));
        assert!(sentences[1].starts_with("30 % of the stacks of java break off"), "{sentences:?}");
        assert!(sentences[1].contains("module b has neither"), "{sentences:?}");
    }

    #[test]
    fn processes_that_ended_too_early_are_told_once() {
        let mut notes = Notes::default();
        (0..90).for_each(|_| notes.count(Some(Path::new("bash")), None, None));
        (0..5).for_each(|_| notes.count_ended());
        assert_eq!(notes.sentences(|_| String::new()), Vec::<String>::new(), "few of them");
        (0..40).for_each(|_| notes.count_ended());
        let sentences = notes.sentences(|_| String::new());
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        assert!(sentences[0].starts_with("33 % of the stacks are of processes that ended"), "{sentences:?}");
    }

    #[test]
    fn named_functions_need_no_advice() {
        let mut notes = Notes::default();
        notes.count(Some(Path::new("python3.12")), Some(Language::Python), None);
        notes.name("python3.12", true);
        notes.name("python3.12", false);
        assert_eq!(notes.sentences(|_| String::new()), Vec::<String>::new());
    }
}
