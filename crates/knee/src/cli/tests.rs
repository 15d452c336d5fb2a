//! The arguments, and the commands of the workflow in docs/ci.md.

use super::*;
use clap::CommandFactory;
use yaml_rust2::{Yaml, YamlLoader};

#[test]
fn the_arguments_are_consistent() {
    Cli::command().debug_assert();
}

/// The words of a line, as a shell splits them, up to where its output goes.
fn words(line: &str) -> Vec<String> {
    let quoted = |word: &str| word.trim_matches(|c| c == '\'' || c == '"').to_owned();
    line.split_whitespace().take_while(|word| !word.starts_with('>')).map(quoted).collect()
}

#[test]
fn the_workflow_is_one_and_its_commands_are_known() {
    let page = include_str!("../../../../docs/ci.md");
    let text = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let workflow = YamlLoader::load_from_str(text).unwrap().remove(0);
    assert_eq!(workflow["on"].as_str(), Some("pull_request"));
    let job = &workflow["jobs"]["knee"];
    assert!(job["runs-on"].as_str().is_some());
    let mut commands = Vec::new();
    for step in job["steps"].as_vec().unwrap() {
        assert!(step["uses"].as_str().is_some() != step["run"].as_str().is_some(), "{step:?}");
        if !matches!(step["if"], Yaml::BadValue) {
            assert_eq!(step["if"].as_str(), Some("always()"));
        }
        let lines = step["run"].as_str().unwrap_or_default().lines();
        commands.extend(lines.filter_map(|line| line.trim().strip_prefix("sudo \"$(command -v knee)\"").map(words)));
        let lines = step["run"].as_str().unwrap_or_default().lines();
        commands.extend(lines.filter_map(|line| line.trim().strip_prefix("knee ").map(words)));
    }
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in commands {
        let whole = std::iter::once("knee".to_owned()).chain(command.iter().cloned());
        assert!(Cli::try_parse_from(whole).is_ok(), "{command:?}");
    }
}
