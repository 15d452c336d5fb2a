//! Where sources are in the repository that knee was called in: no fact of a recording, but what a script or a reviewer
//! opens.

use analyze::answer::{Answer, Cause};
use std::path::{Component, Path};

/// Adds to each place of an answer its path relative to the repository's folder `root`, where it is in it.
pub fn relate(answer: &mut Answer, root: &Path) {
    let beyond = answer.verdict.beyond.iter_mut().flat_map(|beyond| &mut beyond.causes);
    answer.verdict.causes.iter_mut().chain(beyond).for_each(|cause| of_cause(cause, root));
    for site in answer.queues.iter_mut().filter_map(|queue| queue.site.as_mut()) {
        site.relative = relative(site.path.as_deref().or(site.file.as_deref()), root);
    }
}

fn of_cause(cause: &mut Cause, root: &Path) {
    let Some(culprit) = &mut cause.culprit else { return };
    culprit.relative = relative(culprit.path.as_deref().or(culprit.file.as_deref()), root);
    for site in &mut culprit.callers {
        site.relative = relative(site.path.as_deref().or(site.file.as_deref()), root);
    }
}

/// The path of a source relative to the repository's folder, if the file is in it.
///
/// Compilers record whole paths; paths made relative (`-ffile-prefix-map`, `-trimpath`), Python and Node may give
/// others.
pub(crate) fn relative(source: Option<&str>, root: &Path) -> Option<String> {
    let path = Path::new(source?);
    let inside = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let mut parts = Vec::new();
    for component in inside.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let inside = parts.join("/");
    root.join(&inside).is_file().then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_repository_are_relative_to_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let whole = root.join("src/sarif.rs");
        assert_eq!(relative(whole.to_str(), root).as_deref(), Some("src/sarif.rs"));
        assert_eq!(relative(Some("./src/html/../sarif.rs"), root).as_deref(), Some("src/sarif.rs"));
        for outside in ["/usr/lib/x.c", "../x.rs", "src/missing.rs"] {
            assert_eq!(relative(Some(outside), root), None, "{outside}");
        }
        assert_eq!(relative(None, root), None);
    }
}
