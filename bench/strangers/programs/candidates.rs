// Tries random candidates and keeps an archive of good ones that differ from each other.
use std::env;
use std::sync::{Arc, Mutex};
use std::thread;

const TRIALS: u64 = 2_400_000;
const KEEP: usize = 64;
const WIDTH: usize = 16;

#[derive(Clone)]
struct Candidate {
    genes: [i32; WIDTH],
    score: i64,
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Candidate {
    fn random(rng: &mut Rng) -> Candidate {
        let mut genes = [0; WIDTH];
        for g in genes.iter_mut() {
            *g = (rng.next() >> 40) as i32 & 255;
        }
        let score = genes.windows(2).map(|w| i64::from((w[0] - w[1]).abs())).sum();
        Candidate { genes, score }
    }

    fn distance(&self, other: &Candidate) -> i64 {
        self.genes
            .iter()
            .zip(&other.genes)
            .map(|(a, b)| i64::from(a - b) * i64::from(a - b))
            .sum()
    }
}

struct Archive {
    members: Vec<Candidate>,
    offered: u64,
    replaced: u64,
}

impl Archive {
    fn new() -> Archive {
        Archive { members: Vec::with_capacity(KEEP + 1), offered: 0, replaced: 0 }
    }

    /// The member that resembles the candidate most, with its distance.
    fn nearest(&self, candidate: &Candidate) -> Option<(usize, i64)> {
        self.members
            .iter()
            .enumerate()
            .map(|(i, m)| (i, m.distance(candidate)))
            .min_by_key(|&(_, d)| d)
    }

    fn consider(&mut self, candidate: Candidate) {
        self.offered += 1;
        if self.members.len() < KEEP {
            self.members.push(candidate);
            return;
        }
        if let Some((i, distance)) = self.nearest(&candidate) {
            if self.members[i].score < candidate.score || distance > 200_000 {
                self.members.swap_remove(i);
                self.members.push(candidate);
                self.replaced += 1;
            }
        }
    }
}

struct Explorer {
    rng: Rng,
    trials: u64,
    archive: Arc<Mutex<Archive>>,
}

impl Explorer {
    fn explore(mut self) -> i64 {
        let mut best = 0;
        for _ in 0..self.trials {
            let candidate = Candidate::random(&mut self.rng);
            best = best.max(candidate.score);
            self.archive.lock().unwrap().consider(candidate);
        }
        best
    }
}

fn main() {
    let workers: u64 = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let archive = Arc::new(Mutex::new(Archive::new()));
    let handles: Vec<_> = (0..workers)
        .map(|w| {
            let explorer = Explorer {
                rng: Rng(88172645463325252 + w * 7919),
                trials: TRIALS / workers,
                archive: Arc::clone(&archive),
            };
            thread::spawn(move || explorer.explore())
        })
        .collect();
    let best = handles.into_iter().map(|h| h.join().unwrap()).max().unwrap_or(0);
    let archive = archive.lock().unwrap();
    println!("offered {} replaced {} best {}", archive.offered, archive.replaced, best);
}
