//! Waiting loops over atomics (wait_...) and near misses (work_...). See waits.c.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub static FLAG: AtomicBool = AtomicBool::new(false);
pub static WORD: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
pub extern "C" fn open() {
    FLAG.store(true, Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn wait_bool() {
    while !FLAG.load(Ordering::Acquire) {}
}

#[unsafe(no_mangle)]
pub extern "C" fn wait_hint() {
    while !FLAG.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wait_exchange(lock: &AtomicU64) {
    while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wait_reference(word: &AtomicU64, value: u64) {
    while word.load(Ordering::Acquire) < value {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn work_add(n: u64) {
    for _ in 0..n {
        WORD.fetch_add(1, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn work_update(word: &AtomicU64) -> u64 {
    word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |old| Some(old * 7 + 1)).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn work_find(bytes: &[u8], byte: u8) -> usize {
    let mut at = 0;
    while at < bytes.len() && bytes[at] != byte {
        at += 1;
    }
    at
}
