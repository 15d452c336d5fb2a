//! Jobs that each need one of a few buffers: THREADS SIZE JOBS HELD BUILT.
//!
//! HELD is what a job does while it has one: sleep, compute, io (write and fsync). BUILT is how the pool is made: condvar
//! or channel.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

struct Buffer(File);

trait Pool: Sync {
    fn acquire(&self) -> Buffer;
    fn release(&self, buffer: Buffer);
}

struct WithCondition {
    free: Mutex<Vec<Buffer>>,
    returned: Condvar,
}

impl Pool for WithCondition {
    fn acquire(&self) -> Buffer {
        let mut free = self.free.lock().unwrap();
        loop {
            match free.pop() {
                Some(buffer) => return buffer,
                None => free = self.returned.wait(free).unwrap(),
            }
        }
    }

    fn release(&self, buffer: Buffer) {
        self.free.lock().unwrap().push(buffer);
        self.returned.notify_one();
    }
}

struct WithChannel {
    free: Mutex<Receiver<Buffer>>,
    back: Sender<Buffer>,
}

impl Pool for WithChannel {
    fn acquire(&self) -> Buffer {
        self.free.lock().unwrap().recv().unwrap()
    }

    fn release(&self, buffer: Buffer) {
        self.back.send(buffer).unwrap();
    }
}

fn compute(micros: u64) {
    let mut hash: u64 = 1;
    for step in 0..micros * 1500 {
        hash = black_box(hash.wrapping_mul(31) ^ step);
    }
}

fn render(buffer: &mut Buffer, held: &str) {
    match held {
        "compute" => compute(4000),
        "io" => {
            buffer.0.write_all(b"a page\n").unwrap();
            buffer.0.sync_all().unwrap();
            thread::sleep(Duration::from_millis(3));
        }
        _ => thread::sleep(Duration::from_millis(5)),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    let (threads, size, jobs, held) = (number(0), number(1), number(2), words[3].as_str());
    let buffers = (0..size).map(|n| {
        let path = std::env::temp_dir().join(format!("pool-{}-{n}", std::process::id()));
        let file = File::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Buffer(file)
    });
    let pool: Box<dyn Pool> = if words[4] == "condvar" {
        Box::new(WithCondition { free: Mutex::new(buffers.collect()), returned: Condvar::new() })
    } else {
        let (back, free) = channel();
        buffers.for_each(|buffer| back.send(buffer).unwrap());
        Box::new(WithChannel { free: Mutex::new(free), back })
    };
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < jobs {
                    let mut buffer = pool.acquire();
                    render(&mut buffer, held);
                    pool.release(buffer);
                    compute(200);
                }
            });
        }
    });
    println!("{:.1} jobs/s", jobs as f64 / begin.elapsed().as_secs_f64());
}
