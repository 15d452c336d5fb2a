//! The arguments, and the commands of the workflow in docs/ci.md and of the manifest in docs/examples/kubernetes.yaml.

use super::*;
use clap::CommandFactory;
use yaml_rust2::{Yaml, YamlLoader};

#[test]
fn the_arguments_are_consistent() {
    Cli::command().debug_assert();
}

/// Both pods see the other processes and have the same capabilities, which a live test tries; their commands parse.
#[test]
fn the_kubernetes_manifest_is_valid_and_its_commands_parse() {
    let pods = YamlLoader::load_from_str(include_str!("../../../../docs/examples/kubernetes.yaml")).unwrap();
    assert_eq!(pods.len(), 2);
    let mut rights = Vec::new();
    for (pod, sees) in pods.iter().zip(["shareProcessNamespace", "hostPID"]) {
        assert_eq!((pod["apiVersion"].as_str(), pod["kind"].as_str()), (Some("v1"), Some("Pod")));
        let spec = &pod["spec"];
        assert_eq!(spec[sees].as_bool(), Some(true), "{sees}");
        let knee =
            spec["containers"].as_vec().unwrap().iter().find(|one| one["name"].as_str() == Some("knee")).unwrap();
        rights.push(knee["securityContext"]["capabilities"].clone());
        let volumes: Vec<_> = spec["volumes"].as_vec().unwrap().iter().map(|volume| &volume["name"]).collect();
        assert!(knee["volumeMounts"].as_vec().unwrap().iter().all(|mount| volumes.contains(&&mount["name"])));
        let script = knee["args"][0].as_str().unwrap();
        let commands: Vec<_> = script.lines().filter(|line| line.starts_with("knee ")).collect();
        assert_eq!(commands.len(), 1, "{script}");
        let command = words(&commands[0].replace("\"$(pgrep -o app)\"", "4711"));
        assert!(Cli::try_parse_from(&command).is_ok(), "{command:?}");
    }
    assert_eq!(rights[0], rights[1]);
    assert_eq!(rights[0]["drop"][0].as_str(), Some("ALL"));
}

/// The words of a line, as a shell splits them, up to a redirection.
fn words(line: &str) -> Vec<String> {
    let quoted = |word: &str| word.trim_matches(|c| c == '\'' || c == '"').to_owned();
    line.split_whitespace().take_while(|word| !word.starts_with('>')).map(quoted).collect()
}

#[test]
fn the_ci_workflow_is_valid_and_its_commands_parse() {
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
