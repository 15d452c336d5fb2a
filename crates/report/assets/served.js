// What only a served page has: details of any stretch of time, requested from the server of the page.

/**
 * @typedef {{run: number, from: number, to: number, step: number, view: View}} Near a stretch at a resolution in
 *   nanoseconds, 0 for as it was recorded
 */

/** Stretches that are kept: where one pans and zooms back to. */
const MOST_STRETCHES = 12;

class Server {
  constructor() {
    /** The latest last. @type {Near[]} */
    this.known = [];
    this.asking = false;
    this.gone = false;
  }

  /**
   * An answer's bytes, or nothing when there is none any more.
   * @param {Lanes} lanes
   * @param {string} what
   * @param {Record<string, string | number>} query
   */
  async ask(lanes, what, query) {
    if (this.gone) return null;
    const words = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    try {
      const answer = await fetch(`${what}?${words}`, { cache: "no-store" });
      if (answer.ok) return await answer.arrayBuffer();
    } catch {
      // Reported below.
    }
    this.gone = true;
    lanes.standing = "knee view does not answer any more: the lanes stay as coarse as they are.";
    lanes.tell();
    return null;
  }

  /**
   * What is shown, at a resolution; what is not known yet is asked for, and drawn when it comes.
   * @param {Lanes} lanes
   * @param {number} wanted nanoseconds
   * @returns {View | null}
   */
  near(lanes, wanted) {
    const run = lanes.number();
    const covering = this.known.filter((n) => n.run === run && n.from <= lanes.from && n.to >= lanes.to);
    const best = covering.reduce((/** @type {Near | null} */ a, b) => (a && a.step <= b.step ? a : b), null);
    if (!best || best.step > wanted) void this.fetchNear(lanes, run);
    return best?.view ?? null;
  }

  /**
   * One at a time: whoever pans quickly needs the last one only.
   * @param {Lanes} lanes
   * @param {number} run
   */
  async fetchNear(lanes, run) {
    if (this.asking) return;
    this.asking = true;
    // Half a screen more on both sides, for panning; two buckets per pixel, for zooming in.
    const half = (lanes.to - lanes.from) / 2;
    const from = Math.max(0, Math.floor(lanes.from - half));
    const to = Math.min(lanes.run.length, Math.ceil(lanes.to + half));
    const bytes = await this.ask(lanes, "lanes", { run, from, to, columns: Math.ceil(2 * lanes.plot()) });
    this.asking = false;
    if (!bytes) return;
    this.known.push(readNear(lanes.index.runs[run] ?? lanes.run, run, new Numbers(new Uint8Array(bytes))));
    this.known = this.known.slice(-MOST_STRETCHES);
    lanes.draw();
  }

  /**
   * @param {Lanes} lanes
   * @param {[number, number]} range
   * @returns {Promise<Sums | null>}
   */
  async sums(lanes, [from, to]) {
    const query = { run: lanes.number(), from: Math.floor(from), to: Math.ceil(to) };
    return this.parse(await this.ask(lanes, "sums", query));
  }

  /**
   * @param {Lanes} lanes
   * @param {number} at
   * @param {number} direction
   * @returns {Promise<Match | null>}
   */
  async find(lanes, at, direction) {
    const query = { run: lanes.number(), at: Math.round(at), forward: direction > 0 ? 1 : 0, text: lanes.wanted };
    return this.parse(await this.ask(lanes, "find", query));
  }

  /** @param {ArrayBuffer | null} bytes */
  parse(bytes) {
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  }
}

/**
 * @param {Run} run
 * @param {number} number
 * @param {Numbers} numbers
 * @returns {Near}
 */
function readNear(run, number, numbers) {
  const exact = numbers.next() === 1;
  const [from, to, count] = [numbers.next(), numbers.next(), numbers.next()];
  const step = exact ? 0 : (to - from) / count;
  const spans = run.lanes.map(() => (exact ? readSpans(numbers) : readBuckets(numbers, step, from)));
  return { run: number, from, to, step, view: { spans, exact } };
}
