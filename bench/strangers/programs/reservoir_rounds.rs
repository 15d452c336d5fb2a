use std::env;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Barrier;
use std::thread;

const DAYS: usize = 80;
const BASINS: usize = 48;
const MOUNTAIN_BASINS: usize = 12;

fn seep(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x
}

fn basin_cells(basin: usize) -> u64 {
    if basin < MOUNTAIN_BASINS {
        220_000
    } else {
        20_000
    }
}

fn simulate_basin(level: u64, cells: u64) -> u64 {
    let mut water = level;
    for cell in 0..cells {
        water = seep(water.wrapping_add(cell));
    }
    water
}

fn run_crew(crew: usize, crews: usize, evening: &Barrier, outflow: &AtomicU64) {
    let from = BASINS * crew / crews;
    let to = BASINS * (crew + 1) / crews;
    let mut levels: Vec<u64> = (from..to).map(|basin| basin as u64 + 3).collect();
    for day in 0..DAYS {
        let mut released = 0u64;
        for (offset, level) in levels.iter_mut().enumerate() {
            let start = level.wrapping_add(day as u64);
            *level = simulate_basin(start, basin_cells(from + offset));
            released = released.wrapping_add(*level >> 40);
        }
        outflow.fetch_add(released, Ordering::Relaxed);
        evening.wait();
    }
}

fn main() {
    let crews: usize = env::args()
        .nth(1)
        .and_then(|text| text.parse::<usize>().ok())
        .unwrap_or(1)
        .max(1);
    let evening = Barrier::new(crews);
    let outflow = AtomicU64::new(0);
    thread::scope(|scope| {
        for crew in 0..crews {
            let evening = &evening;
            let outflow = &outflow;
            scope.spawn(move || run_crew(crew, crews, evening, outflow));
        }
    });
    println!("days {} outflow {:x}", DAYS, outflow.load(Ordering::Relaxed));
}
