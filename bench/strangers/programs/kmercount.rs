// kmercount - k-mer spectrum of a sequencing run.
//
// Reads are claimed in small groups; each thread counts canonical k-mers in
// a table of its own and adds it to the common spectrum when it is finished.
//
// usage: kmercount THREADS

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

const K: u32 = 8;
const KMERS: usize = 1 << (2 * K);
const MASK: u32 = (KMERS - 1) as u32;
const GENOME: usize = 1 << 21;
const READ_LEN: usize = 16_384;
const READS: usize = 15_000;
const CLAIM: usize = 32;
const SEGMENTS: usize = 16;

struct Progress {
    claims: u64,
    reads: u64,
    bases: u64,
}

struct Run {
    genome: Vec<u8>,
    code: [u8; 256],
    cursor: AtomicUsize,
    progress: Mutex<Progress>,
    spectrum: Vec<Mutex<Vec<u64>>>,
}

fn hash64(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn make_genome() -> Vec<u8> {
    let mut genome = Vec::with_capacity(GENOME);
    let mut seed = 0x9e37_79b9u32;
    for _ in 0..GENOME {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        genome.push(b"ACGTAT"[((seed >> 24) % 6) as usize]);
    }
    genome
}

fn base_codes() -> [u8; 256] {
    let mut code = [4u8; 256];
    code[usize::from(b'A')] = 0;
    code[usize::from(b'C')] = 1;
    code[usize::from(b'G')] = 2;
    code[usize::from(b'T')] = 3;
    code
}

impl Run {
    fn new() -> Run {
        Run {
            genome: make_genome(),
            code: base_codes(),
            cursor: AtomicUsize::new(0),
            progress: Mutex::new(Progress {
                claims: 0,
                reads: 0,
                bases: 0,
            }),
            spectrum: (0..SEGMENTS)
                .map(|_| Mutex::new(vec![0; KMERS / SEGMENTS]))
                .collect(),
        }
    }

    fn read(&self, index: usize) -> &[u8] {
        let start = (hash64(index as u64) as usize) % (GENOME - READ_LEN);
        &self.genome[start..start + READ_LEN]
    }

    fn count_read(&self, read: &[u8], table: &mut [u32]) -> u64 {
        let mut forward = 0u32;
        let mut reverse = 0u32;
        let mut filled = 0u32;
        let mut bases = 0u64;
        for &letter in read {
            let c = u32::from(self.code[usize::from(letter)]);
            if c > 3 {
                filled = 0;
                continue;
            }
            forward = ((forward << 2) | c) & MASK;
            reverse = (reverse >> 2) | ((3 - c) << (2 * (K - 1)));
            filled += 1;
            bases += 1;
            if filled >= K {
                table[forward.min(reverse) as usize] += 1;
            }
        }
        bases
    }

    fn work(&self) {
        let mut table = vec![0u32; KMERS];
        loop {
            let first = self.cursor.fetch_add(CLAIM, Ordering::Relaxed);
            if first >= READS {
                break;
            }
            let end = (first + CLAIM).min(READS);
            let mut bases = 0;
            for index in first..end {
                bases += self.count_read(self.read(index), &mut table);
            }
            let mut progress = self.progress.lock().unwrap();
            progress.claims += 1;
            progress.reads += (end - first) as u64;
            progress.bases += bases;
        }
        self.contribute(&table);
    }

    fn contribute(&self, table: &[u32]) {
        let width = KMERS / SEGMENTS;
        for (segment, part) in table.chunks(width).enumerate() {
            let mut sums = self.spectrum[segment].lock().unwrap();
            for (sum, &count) in sums.iter_mut().zip(part) {
                *sum += u64::from(count);
            }
        }
    }
}

fn main() {
    let threads: usize = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1);
    let run = Arc::new(Run::new());
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let run = Arc::clone(&run);
            thread::spawn(move || run.work())
        })
        .collect();
    for w in workers {
        w.join().expect("worker failed");
    }

    let mut distinct = 0u64;
    let mut peak = 0u64;
    let mut digest = 0u64;
    for (segment, sums) in run.spectrum.iter().enumerate() {
        for (i, &count) in sums.lock().unwrap().iter().enumerate() {
            if count > 0 {
                distinct += 1;
            }
            peak = peak.max(count);
            digest = digest.wrapping_add(hash64(count ^ ((segment * KMERS + i) as u64) << 32));
        }
    }
    let progress = run.progress.lock().unwrap();
    println!(
        "claims {} reads {} bases {} distinct {} peak {} digest {:016x}",
        progress.claims, progress.reads, progress.bases, distinct, peak, digest
    );
}
