// The lanes: what is shown of which run, zoom, pan, search, selection. Drawn by lanes_draw.js.

/** Pixels of the names beside the lanes, of a lane, of its bar, of the time axis, of the minimap. */
const LANE = { axis: 22, height: 20, bar: 14, tasks: 12, minimap: 34 };

class Lanes {
  /**
   * @param {HTMLElement} place
   * @param {Index} index
   * @param {Server | null} server what has more than the page carries
   */
  constructor(place, index, server) {
    this.index = index;
    this.server = server;
    this.place = place;
    /** @type {string[]} */
    this.keys = [];
    for (const [number, key] of index.classes) this.keys[number] = key;
    this.titles = new Map(index.classes.map(([number, , name]) => [number, name]));
    /** Classes of a thread that is on a processor. */
    this.running = new Set(index.classes.filter(([, , , runs]) => runs).map(([number]) => number));
    /** @type {Run} */
    this.run = /** @type {Run} */ (index.runs.find((r) => r.threads === index.focus) ?? index.runs[index.runs.length - 1]);
    /** @type {Map<string, Spans[]>} */
    this.loaded = new Map();
    /** @type {Set<string>} */
    this.loading = new Set();
    /** @type {Samples[] | null} */
    this.samples = null;
    this.from = 0;
    this.to = this.run.length;
    /** @type {[number, number] | null} */
    this.range = null;
    /** @type {Set<number> | null} */
    this.found = null;
    this.wanted = "";
    /** The latest match, so that the next one is another, also where the view cannot move on. @type {number | null} */
    this.match = null;
    /** @type {{x: number, y: number} | null} */
    this.pointer = null;
    /** The minimap as it was drawn last, and of what. @type {{of: string, known: Spans[], picture: HTMLCanvasElement} | null} */
    this.whole = null;
    this.count = el("span", { class: "hint" });
    this.minimap = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "minimap", "aria-hidden": "true" }));
    this.canvas = /** @type {HTMLCanvasElement} */ (
      el("canvas", { tabindex: 0, role: "application", "aria-label": "Threads over time. Keys: w and s zoom, a and d or the arrow keys pan, 0 shows the whole run, Escape ends the selection." })
    );
    this.spacer = el("div");
    this.body = el("div", { class: "body" }, this.canvas, this.spacer);
    this.readout = el("p", { class: "readout" });
    /** What stands below while nothing is pointed at. */
    this.standing = "";
    this.panel = el("div", { class: "range", hidden: true });
    this.draw = onFrame(() => drawLanes(this));
    addTools(this);
    listen(this);
    void this.choose(this.run);
  }

  /** @param {Run} run */
  async choose(run) {
    this.run = run;
    this.loaded.clear();
    this.loading.clear();
    this.samples = null;
    this.found = null;
    this.match = null;
    this.range = null;
    this.whole = null;
    this.panel.hidden = true;
    showMarks(this);
    this.standing = run.left_out > 0 ? `${plural(run.left_out, "short thread")} not drawn.` : "";
    this.pointer = null;
    this.tell();
    [this.from, this.to] = [0, run.length];
    const first = run.levels[0];
    if (first) await this.load(first);
    const samples = await readSamples(run);
    if (this.run === run) this.samples = samples;
    this.draw();
  }

  /** @param {Level} level */
  async load(level) {
    if (this.loading.has(level.id)) return;
    this.loading.add(level.id);
    const run = this.run;
    const spans = await readLevel(run, level);
    if (this.run !== run) return;
    this.loaded.set(level.id, spans);
    this.draw();
  }

  /** Pixels of the names: less where the screen is narrow. */
  names() {
    return this.place.clientWidth < 600 ? 96 : 150;
  }

  plot() {
    return Math.max(40, this.place.clientWidth - 2 - this.names() - 4);
  }

  /** @param {number} x */
  timeAt(x) {
    const share = Math.min(1, Math.max(0, (x - this.names()) / this.plot()));
    return this.from + share * (this.to - this.from);
  }

  /** @param {number} time */
  xOf(time) {
    return this.names() + ((time - this.from) / (this.to - this.from)) * this.plot();
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const length = Math.min(this.run.length, Math.max(200, to - from));
    this.from = Math.min(Math.max(0, from), this.run.length - length);
    this.to = this.from + length;
    // A finger leaves no pointer behind: what it was told is of the view before.
    if (!this.pointer) this.tell();
    this.draw();
  }

  /**
   * @param {number} factor
   * @param {number} [around]
   */
  zoom(factor, around = (this.from + this.to) / 2) {
    const length = Math.min(this.run.length, Math.max(200, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * length, around + (1 - share) * length);
  }

  /** @param {number} share */
  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  /** The run's number in the page. */
  number() {
    return this.index.runs.indexOf(this.run);
  }

  /**
   * The finest level that is not finer than the screen, as far as it is loaded.
   * @returns {View | null}
   */
  spans() {
    const wanted = (2 * (this.to - this.from)) / this.plot();
    const levels = this.run.levels;
    let best = levels.findIndex((l) => l.count === 0 || this.run.length / l.count <= wanted);
    if (best < 0) {
      const near = this.server?.near(this, wanted);
      if (near) return near;
      best = levels.length - 1;
    }
    const level = levels[best];
    if (level && !this.loaded.has(level.id)) void this.load(level);
    for (let i = best; i >= 0; i--) {
      const known = levels[i];
      const spans = known && this.loaded.get(known.id);
      if (known && spans) return { spans, exact: known.count === 0 };
    }
    return null;
  }

  /**
   * Whether a thread runs while it does this.
   * @param {number} kind
   */
  runs(kind) {
    return this.running.has(this.run.kinds[kind]?.[0] ?? 10);
  }

  /** Says what is pointed at, as the view is now; else what stands below. */
  tell() {
    this.readout.textContent = wordsAt(this) || this.standing;
  }

  rowHeight() {
    return LANE.height + (this.run.tasks.length > 0 ? LANE.tasks : 0);
  }

  /** @param {string} text */
  search(text) {
    const wanted = text.trim().toLowerCase();
    this.wanted = wanted;
    this.found = null;
    this.match = null;
    this.count.textContent = "";
    this.pointer = null;
    this.tell();
    if (wanted) {
      const found = new Set();
      this.run.kinds.forEach((kind, i) => {
        const words = `${this.titles.get(kind[0])} ${kind[1]}`.toLowerCase();
        if (words.includes(wanted)) found.add(i);
      });
      this.found = found;
      const lane = this.run.lanes.findIndex((name) => name.toLowerCase().includes(wanted));
      this.count.textContent = found.size ? plural(found.size, "kind") : lane >= 0 ? "" : "no match";
      if (!found.size && lane >= 0) {
        this.found = null;
        this.body.scrollTop = lane * this.rowHeight() - 40;
      }
    }
    this.draw();
  }

  /**
   * The next match after the latest one, or after the middle of the view.
   * @param {number} direction
   */
  async next(direction) {
    if (!this.found || !this.found.size) return;
    const seen = this.match !== null && this.match >= this.from && this.match <= this.to;
    const at = seen && this.match !== null ? this.match : (this.from + this.to) / 2;
    const run = this.run;
    const found = this.server ? await this.server.find(this, at, direction) : this.nearest(at, direction);
    if (!found || this.run !== run) return;
    this.match = found.at;
    this.body.scrollTop = found.lane * this.rowHeight() - 60;
    const half = (this.to - this.from) / 2;
    this.show(found.at - half, found.at + half);
  }

  /**
   * The nearest match on one side of a moment, as far as the page knows.
   * @param {number} moment
   * @param {number} direction
   * @returns {Match | null}
   */
  nearest(moment, direction) {
    let best = Infinity;
    /** @type {Match | null} */
    let match = null;
    this.spans()?.spans.forEach((spans, lane) => {
      for (let i = 0; i < spans.start.length; i++) {
        if (!this.found?.has(/** @type {number} */ (spans.kind[i]))) continue;
        const at = (/** @type {number} */ (spans.start[i]) + /** @type {number} */ (spans.end[i])) / 2;
        const distance = (at - moment) * direction;
        if (distance > (this.to - this.from) * 1e-6 && distance < best) {
          best = distance;
          match = { lane, at };
        }
      }
    });
    return match;
  }

  unselect() {
    this.range = null;
    this.panel.hidden = true;
    this.draw();
  }

  /**
   * @param {number} a
   * @param {number} b
   * @param {boolean} done
   */
  select(a, b, done) {
    this.range = [Math.min(a, b), Math.max(a, b)];
    if (done) void this.sum(this.range);
    this.draw();
  }

  /**
   * Shows what happened in a stretch.
   * @param {[number, number]} range
   */
  async sum(range) {
    const sums = (this.server && (await this.server.sums(this, range))) || sumUp(this, ...range);
    if (sums && this.range === range) showSums(this, ...range, sums);
  }
}
