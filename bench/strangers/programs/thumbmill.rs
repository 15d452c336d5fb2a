// thumbmill - renders the thumbnails of a photo archive for an e-ink catalogue.
//
// Jobs are handed to the render threads over a channel.  A thumbnail is cut
// out of its photo, softened, dithered to two tones and packed into bits.
//
// usage: thumbmill THREADS

use std::sync::{mpsc, Arc, Mutex};
use std::thread;

const PHOTO_SIDE: usize = 1024;
const THUMB_SIDE: usize = 128;
const JOBS: u32 = 9000;

struct Job {
    id: u32,
    left: usize,
    top: usize,
    contrast: i32,
}

#[derive(Default, Clone, Copy)]
struct Summary {
    rendered: u32,
    black: u64,
    digest: u64,
}

struct Canvas {
    gray: Vec<i32>,
    soft: Vec<i32>,
    bits: Vec<u8>,
}

impl Canvas {
    fn new() -> Canvas {
        Canvas {
            gray: vec![0; THUMB_SIDE * THUMB_SIDE],
            soft: vec![0; THUMB_SIDE * THUMB_SIDE],
            bits: vec![0; THUMB_SIDE * THUMB_SIDE / 8],
        }
    }
}

fn make_photo() -> Vec<u8> {
    let mut photo = vec![0u8; PHOTO_SIDE * PHOTO_SIDE];
    let mut seed = 0x2545_f491u32;
    for y in 0..PHOTO_SIDE {
        for x in 0..PHOTO_SIDE {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (seed >> 27) as usize;
            photo[y * PHOTO_SIDE + x] = (((x * 3 + y * 2) / 16 + noise) & 0xff) as u8;
        }
    }
    photo
}

fn cut(photo: &[u8], job: &Job, out: &mut [i32]) {
    for y in 0..THUMB_SIDE {
        let row = (job.top + y) * PHOTO_SIDE + job.left;
        for x in 0..THUMB_SIDE {
            let value = i32::from(photo[row + x]) - 128;
            out[y * THUMB_SIDE + x] = (value * job.contrast) / 64 + 128;
        }
    }
}

fn soften(gray: &[i32], out: &mut [i32]) {
    out.copy_from_slice(gray);
    for y in 1..THUMB_SIDE - 1 {
        for x in 1..THUMB_SIDE - 1 {
            let i = y * THUMB_SIDE + x;
            let cross = gray[i - 1] + gray[i + 1] + gray[i - THUMB_SIDE] + gray[i + THUMB_SIDE];
            out[i] = (gray[i] * 4 + cross) / 8;
        }
    }
}

/// Floyd-Steinberg error diffusion; returns the number of black dots.
fn dither(img: &mut [i32], bits: &mut [u8]) -> u64 {
    let mut black = 0;
    bits.fill(0);
    for y in 0..THUMB_SIDE {
        for x in 0..THUMB_SIDE {
            let i = y * THUMB_SIDE + x;
            let old = img[i];
            let new = if old < 128 { 0 } else { 255 };
            if new == 0 {
                bits[i / 8] |= 1 << (i % 8);
                black += 1;
            }
            let err = old - new;
            if x + 1 < THUMB_SIDE {
                img[i + 1] += err * 7 / 16;
            }
            if y + 1 < THUMB_SIDE {
                if x > 0 {
                    img[i + THUMB_SIDE - 1] += err * 3 / 16;
                }
                img[i + THUMB_SIDE] += err * 5 / 16;
                if x + 1 < THUMB_SIDE {
                    img[i + THUMB_SIDE + 1] += err / 16;
                }
            }
        }
    }
    black
}

fn render(photo: &[u8], job: &Job, canvas: &mut Canvas) -> (u64, u64) {
    cut(photo, job, &mut canvas.gray);
    soften(&canvas.gray, &mut canvas.soft);
    let black = dither(&mut canvas.soft, &mut canvas.bits);
    let mut digest = u64::from(job.id);
    for chunk in canvas.bits.chunks(8) {
        let mut word = 0u64;
        for &b in chunk {
            word = (word << 8) | u64::from(b);
        }
        digest = (digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (black, digest)
}

fn render_thread(jobs: Arc<Mutex<mpsc::Receiver<Job>>>, photo: Arc<Vec<u8>>) -> Summary {
    let mut canvas = Canvas::new();
    let mut summary = Summary::default();
    while let Ok(job) = jobs.lock().unwrap().recv() {
        let (black, digest) = render(&photo, &job, &mut canvas);
        summary.rendered += 1;
        summary.black += black;
        summary.digest = summary.digest.wrapping_add(digest);
    }
    summary
}

fn main() {
    let threads: usize = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1);
    let photo = Arc::new(make_photo());
    let (tx, rx) = mpsc::channel();
    let rx = Arc::new(Mutex::new(rx));

    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let jobs = Arc::clone(&rx);
            let photo = Arc::clone(&photo);
            thread::spawn(move || render_thread(jobs, photo))
        })
        .collect();

    let room = (PHOTO_SIDE - THUMB_SIDE) as u32;
    for id in 0..JOBS {
        let job = Job {
            id,
            left: (id.wrapping_mul(7919) % room) as usize,
            top: (id.wrapping_mul(104_729) % room) as usize,
            contrast: 48 + (id % 5) as i32 * 8,
        };
        tx.send(job).expect("render threads are gone");
    }
    drop(tx);

    let mut total = Summary::default();
    for w in workers {
        let s = w.join().expect("render thread failed");
        total.rendered += s.rendered;
        total.black += s.black;
        total.digest = total.digest.wrapping_add(s.digest);
    }
    println!(
        "rendered {} black {} digest {:016x}",
        total.rendered, total.black, total.digest
    );
}
