//! Maps with small keys, such as handles, that are looked up millions of times. The standard hasher would take longer than
//! the rest of a look-up.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map whose keys are a few numbers.
pub type QuickMap<K, V> = HashMap<K, V, QuickHash>;

/// Makes hashers that multiply. Each map has a seed of its own, so that no file can choose keys that collide.
#[derive(Debug, Clone)]
pub struct QuickHash {
    seed: u64,
}

impl Default for QuickHash {
    fn default() -> QuickHash {
        QuickHash { seed: RandomState::new().build_hasher().finish() }
    }
}

impl BuildHasher for QuickHash {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher { state: self.seed }
    }
}

/// Mixes in each number by a 128-bit multiplication, and combines both halves of the product.
#[derive(Debug, Clone)]
pub struct QuickHasher {
    state: u64,
}

/// Odd, and with bits in no pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut number = [0; 8];
            number.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from((self.state ^ number).wrapping_add(FACTOR)) * u128::from(FACTOR);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{StackId, WaitId};
    use std::collections::HashSet;

    #[test]
    fn keys_that_differ_have_different_hashes() {
        let hash = QuickHash::default();
        let mut seen = HashSet::new();
        let mut low: HashSet<u64> = HashSet::new();
        for at in 0..10_000_u32 {
            let found = hash.hash_one((WaitId(at), Some(StackId(at << 12))));
            seen.insert(found);
            low.insert(found & 0xffff);
        }
        assert_eq!(seen.len(), 10_000);
        // Of as many random numbers, 9274 would be expected.
        assert!(low.len() > 9_000, "{}", low.len());
        assert_ne!(hash.hash_one("a"), hash.hash_one("b"));
        assert_ne!(QuickHash::default().hash_one(1_u32), QuickHash::default().hash_one(1_u32));
    }
}
