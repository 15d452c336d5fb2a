//! What goroutines wait for, read from the memory of a running program. `./dev live` runs these tests: they need root and
//! Go. Without Go they are skipped with a message.
#![allow(clippy::unwrap_used, reason = "a test whose setup fails must fail")]

use super::processors::works_here;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Forty goroutines, of which each sleeps while it holds the one mutex.
const STOCK: &str = r#"package main

import (
	"fmt"
	"sync"
	"time"
)

var mu sync.Mutex
var stock int

func reserve() {
	mu.Lock()
	defer mu.Unlock()
	time.Sleep(2 * time.Millisecond)
	stock++
}

func main() {
	var all sync.WaitGroup
	for n := 0; n < 40; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 10; i++ {
				reserve()
			}
		}()
	}
	all.Wait()
	fmt.Println(stock)
}
"#;

/// Each look at so few goroutines must be at all of them: the holder is one of forty.
#[test]
#[ignore = "needs root: run ./dev live"]
fn the_goroutine_that_sleeps_with_the_lock_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stock.go"), STOCK).unwrap();
    if !works_here("go", &["build", "-o", "stock", "stock.go"], folder.path()) {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_knee"))
        .args(["sweep", "--quick", "-t", "1,2", "--env", "GOMAXPROCS={threads}", "--format", "json", "-q"])
        .args(["-o", "recording", "--", "./stock"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sentence = answer["verdict"]["summary"].as_str().unwrap();
    assert!(sentence.contains("lock that is taken in main.reserve (stock.go:13)"), "{sentence}");
    assert!(sentence.contains("the holder itself waits"), "{sentence}");
    assert!(sentence.contains("main.reserve (stock.go:15)"), "{sentence}");
}
