//! Turns the text of a sweep file into a sweep, and notes every mistake with its place.

use super::problem::{Problem, nearest};
use super::sweep_file::{Described, Published, SweepFile, is_numeric, usual_picture};
use super::values::{Section, Value, entries, one_or_more, prose, scalar, seconds, section, text, whole, wrong};
use crate::plan::cases::{Parameter, Variant, unused};
use crate::plan::counts::Counts;
use crate::plan::template::{PLACEHOLDER, Template, placeholder};
use crate::throughput::Forms;
use analyze::causes::with_none;
use report::comparison::Picture;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

const TOP: &[&str] = &[
    "title",
    "about",
    "build",
    "folder",
    "command",
    "threads",
    "runs",
    "warm-up",
    "timeout",
    "throughput",
    "env",
    "params",
    "variants",
    "picture",
    "published",
];
const VARIANT: &[&str] = &["name", "about", "command", "env", "params", "needs", "expect", "place", "repair"];
const PICTURE: &[&str] = &["x", "log"];
const PUBLISHED: &[&str] = &["source", "machine", "figures"];

/// Cause ids that `expect` may name, as in the answer.
fn causes() -> impl Iterator<Item = &'static str> {
    with_none().map(|meta| meta.id.name())
}

type Problems = Vec<Problem>;
/// Names with their values, in the order of the file.
type Pairs = Vec<(String, String)>;

/// Reads the text of the file at `path`.
///
/// # Errors
/// Every mistake that was found.
pub(super) fn read(path: &Path, text: &str) -> Result<SweepFile, Problems> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        vec![Problem { span, what: error.message().to_owned(), help: None }]
    })?;
    let mut problems = Problems::new();
    // A missing key is missing from the whole file, so the mark stands at the file's beginning.
    let top = Section::new(parsed.get_ref(), 0..0, TOP, &mut problems);
    let file = whole_file(path, &top, &mut problems);
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => Err(problems),
    }
}

fn whole_file(path: &Path, top: &Section<'_, '_>, problems: &mut Problems) -> Option<SweepFile> {
    let title = top.required("title", "title = \"A lock inside the C library\"", problems, prose);
    let about = top.optional("about", problems, prose).unwrap_or_default();
    let build = top.optional("build", problems, text);
    let folder = folder(path, top.optional("folder", problems, text));
    let threads = top.required("threads", "threads = [1, 2, 4]", problems, threads);
    let runs = top.optional("runs", problems, |value, problems| whole(value, 1, problems));
    let warm_up = top.optional("warm-up", problems, |value, problems| whole(value, 0, problems));
    let timeout = top.optional("timeout", problems, seconds);
    let throughput = top.optional("throughput", problems, pattern);
    let env = top.optional("env", problems, variables).unwrap_or_default();
    let parameters = top.optional("params", problems, parameters).unwrap_or_default();
    let argv = top.optional("command", problems, words);
    let common = Common { argv, env, folder: folder.clone() };
    let variants = match top.get("variants") {
        Some(value) => variants(value, &common, problems),
        None => single_variant(top, &common, problems).map(|only| vec![only]),
    };
    let (parameters, places): (Vec<Parameter>, Vec<Range<usize>>) = parameters.into_iter().unzip();
    let picture = top.optional("picture", problems, |value, problems| picture(value, &parameters, problems));
    let published = top.optional("published", problems, published);
    let variants = variants?;
    check_placeholders(top, &variants, parameters.iter().zip(places), problems);
    Some(SweepFile {
        path: path.to_owned(),
        title: title?,
        about,
        build,
        folder,
        threads: threads?,
        runs,
        warm_up,
        timeout,
        throughput,
        picture: picture.unwrap_or_else(|| usual_picture(&parameters)),
        parameters,
        variants,
        published,
    })
}

/// Paths in the file are relative to the file's own folder, so that a sweep does not depend on where it is started.
fn folder(path: &Path, named: Option<String>) -> PathBuf {
    let own = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = named.map_or_else(|| own.to_owned(), |named| own.join(named));
    // Shortened for people: `lab`, not `lab/sweeps/..`. A missing folder is reported when a program is looked for in
    // it.
    let Ok(whole) = folder.canonicalize() else { return folder };
    let current = std::env::current_dir().and_then(|current| current.canonicalize());
    match current.ok().and_then(|current| whole.strip_prefix(current).map(Path::to_owned).ok()) {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Some(below) => below,
        None => whole,
    }
}

/// What the variants share unless they override it.
struct Common {
    argv: Option<Vec<String>>,
    env: Pairs,
    folder: PathBuf,
}

impl Common {
    fn template(&self, argv: Vec<String>, own_env: Pairs) -> Template {
        let mut env = self.env.clone();
        env.retain(|(name, _)| own_env.iter().all(|(own, _)| own != name));
        env.extend(own_env);
        Template {
            argv: argv.into_iter().map(Into::into).collect(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            folder: Some(self.folder.clone()),
            load: None,
        }
    }
}

fn single_variant(top: &Section<'_, '_>, common: &Common, problems: &mut Problems) -> Option<Described> {
    let Some(argv) = common.argv.clone() else {
        // A command that exists but is wrong has been reported already.
        if top.get("command").is_none() {
            top.required("command", "command = \"./program --threads={threads}\"", problems, words);
        }
        return None;
    };
    let name = argv.first().map(Path::new).and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
    let template = common.template(argv, Vec::new());
    let variant = Variant { name: name.unwrap_or_default(), template, parameters: Vec::new(), expect: Vec::new() };
    Some(Described { variant, about: None, needs: Vec::new(), place: None, repair: None })
}

fn variants(value: &Value<'_>, common: &Common, problems: &mut Problems) -> Option<Vec<Described>> {
    let Some(items) = value.get_ref().as_array().filter(|items| !items.is_empty()) else {
        return wrong(value, "expected [[variants]] tables", problems);
    };
    let mut names = BTreeSet::new();
    let mut described = Vec::new();
    for item in items.iter() {
        let Some(section) = section(item, VARIANT, problems) else { continue };
        let Some(variant) = variant(&section, common, problems) else { continue };
        if !names.insert(variant.variant.name.clone()) {
            let at = section.get("name").unwrap_or(item);
            wrong::<()>(at, "another variant has this name", problems);
        }
        described.push(variant);
    }
    Some(described)
}

fn variant(section: &Section<'_, '_>, common: &Common, problems: &mut Problems) -> Option<Described> {
    let name = section.required("name", "name = \"padded\"", problems, prose);
    let env = section.optional("env", problems, variables).unwrap_or_default();
    let argv = match (section.get("command"), &common.argv) {
        (None, Some(argv)) => Some(argv.clone()),
        _ => section.required("command", "command = \"./program --threads={threads}\"", problems, words),
    };
    let own = section.optional("params", problems, parameters).unwrap_or_default();
    let expect = section.optional("expect", problems, |v, p| one_or_more(v, p, cause)).unwrap_or_default();
    let needs = section.optional("needs", problems, |v, p| one_or_more(v, p, text)).unwrap_or_default();
    let (about, place) = (section.optional("about", problems, prose), section.optional("place", problems, prose));
    let repair = section.optional("repair", problems, prose);
    let template = common.template(argv?, env);
    if !template.mentions(PLACEHOLDER) {
        let at = section.get("command").map_or(section.span.clone(), |command| command.span());
        problems.push(no_thread_count(at));
    }
    for (parameter, span) in &own {
        if !template.mentions(&placeholder(&parameter.name)) {
            problems.push(Problem { span: span.clone(), what: unused(&parameter.name), help: None });
        }
    }
    let parameters = own.into_iter().map(|(parameter, _)| parameter).collect();
    Some(Described { variant: Variant { name: name?, template, parameters, expect }, about, needs, place, repair })
}

fn no_thread_count(span: Range<usize>) -> Problem {
    let what = format!("{PLACEHOLDER} occurs nowhere, so every run would be the same");
    let help = format!("write it where the program takes its thread count, as in --threads={PLACEHOLDER}");
    Problem { span, what, help: Some(help) }
}

/// Every parameter must occur in a program's command, and a single command must contain its thread count.
fn check_placeholders<'p>(
    top: &Section<'_, '_>,
    variants: &[Described],
    parameters: impl Iterator<Item = (&'p Parameter, Range<usize>)>,
    problems: &mut Problems,
) {
    let mentioned = |mark: &str| variants.iter().any(|v| v.variant.template.mentions(mark));
    for (parameter, span) in parameters {
        if !variants.is_empty() && !mentioned(&placeholder(&parameter.name)) {
            problems.push(Problem { span, what: unused(&parameter.name), help: None });
        }
    }
    if let (None, Some(command), false) = (top.get("variants"), top.get("command"), mentioned(PLACEHOLDER)) {
        problems.push(no_thread_count(command.span()));
    }
}

fn threads(value: &Value<'_>, problems: &mut Problems) -> Option<Vec<u32>> {
    let listed = match value.get_ref() {
        DeValue::String(list) => list.to_string(),
        _ => one_or_more(value, problems, scalar)?.join(","),
    };
    match listed.parse::<Counts>() {
        Ok(Counts(counts)) => Some(counts),
        Err(what) => wrong(value, what, problems),
    }
}

fn pattern(value: &Value<'_>, problems: &mut Problems) -> Option<String> {
    let pattern = text(value, problems)?;
    match Forms::given(&pattern) {
        Ok(_) => Some(pattern),
        // The marked line already shows the pattern, so the last line of the error is enough.
        Err(what) => wrong(value, what.lines().last().unwrap_or("it is not a regular expression").to_owned(), problems),
    }
}

/// A command: a list of words, or one text that is split into words like a shell does, but without expansion.
fn words(value: &Value<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let words = match value.get_ref() {
        DeValue::String(line) => match shlex::split(line) {
            Some(words) => words,
            None => return wrong(value, "a quote in this command is not closed", problems),
        },
        _ => one_or_more(value, problems, scalar)?,
    };
    if words.first().is_none_or(String::is_empty) {
        return wrong(value, "the command is empty", problems);
    }
    Some(words)
}

fn variables(value: &Value<'_>, problems: &mut Problems) -> Option<Pairs> {
    let mut pairs = Pairs::new();
    for (name, span, text) in entries(value, problems, scalar)? {
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.push(Problem { span, what: "no variable can have this name".to_owned(), help: None });
        }
        pairs.push((name, text));
    }
    Some(pairs)
}

fn parameters(value: &Value<'_>, problems: &mut Problems) -> Option<Vec<(Parameter, Range<usize>)>> {
    let mut parameters = Vec::new();
    for (name, span, values) in entries(value, problems, |value, problems| one_or_more(value, problems, scalar))? {
        if placeholder(&name) == PLACEHOLDER {
            let help = Some("thread counts belong to `threads`, beside the parameters".to_owned());
            problems.push(Problem { span: span.clone(), what: "`threads` is not a parameter".to_owned(), help });
        }
        if let Some(twice) = values.iter().enumerate().find(|(i, v)| values[..*i].contains(v)) {
            problems.push(Problem { span: span.clone(), what: format!("{} is listed twice", twice.1), help: None });
        }
        parameters.push((Parameter { name, values }, span));
    }
    Some(parameters)
}

fn cause(value: &Value<'_>, problems: &mut Problems) -> Option<String> {
    let name = text(value, problems)?;
    if causes().any(|known| known == name) {
        return Some(name);
    }
    let help = match nearest(&name, causes()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("causes: {}", causes().collect::<Vec<_>>().join(", ")),
    };
    problems.push(Problem { span: value.span(), what: format!("`{name}` is not a cause"), help: Some(help) });
    None
}

fn picture(value: &Value<'_>, parameters: &[Parameter], problems: &mut Problems) -> Option<Picture> {
    let section = section(value, PICTURE, problems)?;
    let mut picture = usual_picture(parameters);
    if let Some(value) = section.get("x") {
        let name = text(value, problems)?;
        let known = parameters.iter().find(|p| p.name == name);
        picture.log_x = false;
        picture.x = match known {
            Some(parameter) if is_numeric(parameter) => Some(name),
            Some(_) => return wrong(value, "the values of this parameter are not all numbers", problems),
            None if name == "threads" => None,
            None => {
                let names = parameters.iter().map(|p| p.name.as_str()).chain(["threads"]);
                let help = nearest(&name, names).map(|near| format!("did you mean `{near}`?"));
                problems.push(Problem { span: value.span(), what: format!("`{name}` is not a parameter"), help });
                return None;
            }
        };
    }
    if let Some(value) = section.get("log") {
        let axes = one_or_more(value, problems, |value, problems| match text(value, problems)?.as_str() {
            "x" => Some('x'),
            "y" => Some('y'),
            _ => wrong(value, "expected \"x\" or \"y\"", problems),
        })?;
        picture.log_x = axes.contains(&'x');
        picture.log_y = axes.contains(&'y');
    }
    Some(picture)
}

fn published(value: &Value<'_>, problems: &mut Problems) -> Option<Published> {
    let section = section(value, PUBLISHED, problems)?;
    let source = section.required("source", "source = \"Author, title, year\"", problems, prose);
    let machine = section.optional("machine", problems, prose);
    let figures =
        section.required("figures", "figures = [\"4 threads: 6 times as slow\"]", problems, |value, problems| {
            one_or_more(value, problems, prose)
        });
    Some(Published { source: source?, machine, figures: figures? })
}
