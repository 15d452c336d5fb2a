//! A program with every kind of mark: two threads add up numbers.
//!
//! It prints the units of work that its marks count, so that a profiler's count can be compared.
#![allow(clippy::print_stdout, reason = "an example")]

use std::ops::Range;
use std::thread;

const CHUNK: u64 = 1000;

fn sum(numbers: Range<u64>) -> u64 {
    let _task = knee_marks::task!("sum");
    let count = numbers.end - numbers.start;
    let sum = numbers.map(std::hint::black_box).sum();
    knee_marks::work(count);
    sum
}

fn main() {
    knee_marks::measured_begin();
    let total: u64 = thread::scope(|scope| {
        let threads = [0, 1].map(|thread| {
            scope.spawn(move || {
                (0..10).map(|i| (2 * i + thread) * CHUNK).map(|first| sum(first..first + CHUNK)).sum::<u64>()
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
    });
    knee_marks::measured_end();
    println!("sum={total} work={}", 20 * CHUNK);
}
