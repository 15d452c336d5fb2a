// What the page carries: an index as JSON, and numbers as compressed bytes that are unpacked only when needed.

/**
 * @typedef {{id: string, count: number}} Level one level of detail; a count of 0 means every span as it was recorded
 * @typedef {[number, string, number | null, number | null]} Kind class, words, lane that wakes, its share in percent
 * @typedef {[number, number, number, number, number]} Task lane, begin, end, name, depth
 * Of a run `each` is the seconds per unit of work that a sample stands for.
 * @typedef {{threads: number, length: number, processors: number, lanes: string[], left_out: number, kinds: Kind[],
 *   levels: Level[], samples: string, sample_ns: number, each: number, tasks: Task[]}} Run
 * Of a class `classes` has its number, its name in style sheets, its words, and whether a thread runs meanwhile.
 * @typedef {{runs: Run[], classes: [number, string, string, boolean][], flame: number[][], waited: number[][], names: string[],
 *   focus: number | null, counted: string}} Index what `threads` of a run counts: thread, processor
 * @typedef {{start: Float64Array, end: Float64Array, kind: Uint32Array, mixed: Uint8Array | null}} Spans of one lane
 * @typedef {{time: Float64Array, name: Uint32Array}} Samples of one lane
 * @typedef {{spans: Spans[], exact: boolean}} View lanes, each span as it was recorded or what took most of a bucket
 * @typedef {{lane: number, at: number}} Match
 * @typedef {{classes: [number, number][], waits: [number, number][], functions: [number, number][], samples: number,
 *   threads: [number, number, number][]}} Sums of a stretch: nanoseconds by class and kind, samples by name, nanoseconds
 *   that lanes ran and waited
 */

/** @returns {Index} */
function readIndex() {
  const element = document.getElementById("index");
  return JSON.parse(element?.textContent ?? "{}");
}

/**
 * The bytes of a part.
 * @param {string} id
 */
async function bytesOf(id) {
  const text = document.getElementById(id)?.textContent ?? "";
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers in groups of seven bits, the lowest first (LEB128). */
class Numbers {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  next() {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) return value;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }
}

/**
 * The lanes of a run at a level.
 * @param {Run} run
 * @param {Level} level
 * @returns {Promise<Spans[]>}
 */
async function readLevel(run, level) {
  const numbers = new Numbers(await bytesOf(level.id));
  return run.lanes.map(() => (level.count ? readBuckets(numbers, run.length / level.count, 0) : readSpans(numbers)));
}

/**
 * @param {Numbers} numbers
 * @param {number} width nanoseconds
 * @param {number} begin of the first one
 * @returns {Spans}
 */
function readBuckets(numbers, width, begin) {
  const count = numbers.next();
  const spans = { start: new Float64Array(count), end: new Float64Array(count), kind: new Uint32Array(count), mixed: null };
  let [at, used] = [0, 0];
  for (let i = 0; i < count; i++) {
    const length = numbers.next();
    const kind = numbers.next();
    if (kind > 0) {
      spans.start[used] = begin + at * width;
      spans.end[used] = begin + (at + length) * width;
      spans.kind[used++] = kind - 1;
    }
    at += length;
  }
  return { start: spans.start.subarray(0, used), end: spans.end.subarray(0, used), kind: spans.kind.subarray(0, used), mixed: null };
}

/**
 * @param {Numbers} numbers
 * @returns {Spans}
 */
function readSpans(numbers) {
  const count = numbers.next();
  const spans = { start: new Float64Array(count), end: new Float64Array(count), kind: new Uint32Array(count), mixed: new Uint8Array(count) };
  let at = 0;
  for (let i = 0; i < count; i++) {
    spans.start[i] = at += numbers.next();
    spans.end[i] = at += numbers.next();
    const kind = numbers.next();
    spans.kind[i] = kind >> 1;
    spans.mixed[i] = kind & 1;
  }
  return spans;
}

/**
 * @param {Run} run
 * @returns {Promise<Samples[]>}
 */
async function readSamples(run) {
  const numbers = new Numbers(await bytesOf(run.samples));
  return run.lanes.map(() => {
    const count = numbers.next();
    const samples = { time: new Float64Array(count), name: new Uint32Array(count) };
    let at = 0;
    for (let i = 0; i < count; i++) {
      samples.time[i] = at += numbers.next();
      samples.name[i] = numbers.next();
    }
    return samples;
  });
}

/**
 * Index of the first element that is greater.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
function after(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (sorted[middle]) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
