// The lanes: zoom, pan, search, range selection, minimap.

/** Pixels of the names beside the lanes, of a lane, of its bar, of the time axis, of the minimap. */
const LANE = { axis: 22, height: 20, bar: 14, tasks: 9, minimap: 34 };
/** Arrows are drawn where the eye can still follow them. */
const MOST_ARROWS = 400;
/** How high a class is drawn: what runs is told from what waits without any colour. */
const HEIGHTS = { user: 1, system: 1, kernel: 1, preempted: 0.7, runnable: 0.7, lock: 0.5, wait: 0.28, io: 0.28, sleep: 0.28, unknown: 0.28 };

class Lanes {
  /**
   * @param {HTMLElement} place
   * @param {Index} index
   */
  constructor(place, index) {
    this.index = index;
    this.place = place;
    /** @type {string[]} */
    this.keys = [];
    for (const [number, key] of index.classes) this.keys[number] = key;
    this.titles = new Map(index.classes.map(([number, , name]) => [number, name]));
    /** @type {Run} */
    this.run = /** @type {Run} */ (index.runs[index.runs.length - 1]);
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
    /** @type {{x: number, y: number} | null} */
    this.pointer = null;
    this.count = el("span", { class: "hint" });
    this.minimap = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "minimap", "aria-hidden": "true" }));
    this.canvas = /** @type {HTMLCanvasElement} */ (
      el("canvas", { tabindex: 0, role: "application", "aria-label": "Threads over time. Keys: w and s zoom, a and d or the arrow keys pan, 0 shows the whole run, Escape ends the selection." })
    );
    this.spacer = el("div");
    this.body = el("div", { class: "body" }, this.canvas, this.spacer);
    this.readout = el("p", { class: "readout" });
    this.panel = el("div", { class: "range", hidden: true });
    this.draw = onFrame(() => this.paint());
    this.build();
    void this.choose(this.run);
  }

  build() {
    const chooser = /** @type {HTMLSelectElement} */ (
      el("select", { "aria-label": "thread count", change: () => {
        const run = this.index.runs[Number(chooser.value)];
        if (run) void this.choose(run);
      } })
    );
    this.index.runs.forEach((run, i) => {
      const selected = run === this.run;
      chooser.append(el("option", { value: i, selected }, run.threads > 0 ? plural(run.threads, "thread") : "one run"));
    });
    const search = /** @type {HTMLInputElement} */ (
      el("input", { type: "search", placeholder: "search: lock, call, function …", "aria-label": "search the lanes", input: () => this.search(search.value),
        keydown: (event) => {
          if (/** @type {KeyboardEvent} */ (event).key === "Enter") this.next(/** @type {KeyboardEvent} */ (event).shiftKey ? -1 : 1);
        } })
    );
    const button = (/** @type {string} */ text, /** @type {string} */ what, /** @type {() => void} */ act) =>
      el("button", { type: "button", title: what, "aria-label": what, click: act }, text);
    const tools = el("div", { class: "tools" }, chooser,
      button("+", "zoom in (w)", () => this.zoom(0.5)), button("−", "zoom out (s)", () => this.zoom(2)),
      button("◂", "earlier (a)", () => this.pan(-0.3)), button("▸", "later (d)", () => this.pan(0.3)),
      button("whole run", "show the whole run (0)", () => this.show(0, this.run.length)),
      search, button("next", "next match (Enter)", () => this.next(1)), this.count,
      el("span", { class: "spring" }),
      el("span", { class: "hint" }, "drag: select a range · ctrl + wheel: zoom · shift + wheel: pan"));
    this.place.append(tools, el("div", { class: "lanes" }, this.minimap, this.body), this.readout, this.panel);
    this.body.addEventListener("scroll", this.draw);
    new ResizeObserver(this.draw).observe(this.place);
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY * 0.0025), this.timeAt(event.offsetX));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan((event.deltaX || event.deltaY) / this.plot());
      }
    }, { passive: false });
    let start = /** @type {number | null} */ (null);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = { x: event.offsetX, y: event.offsetY };
      if (start !== null && Math.abs(event.offsetX - start) > 3) this.select(this.timeAt(start), this.timeAt(event.offsetX), false);
      this.tell();
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(event.offsetX - start) > 3) this.select(this.timeAt(start), this.timeAt(event.offsetX), true);
      start = null;
    });
    canvas.addEventListener("pointercancel", () => (start = null));
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.draw();
    });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, this.timeAt(event.offsetX)));
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      /** @type {Record<string, () => void>} */
      const keys = {
        w: () => this.zoom(0.5), "+": () => this.zoom(0.5), s: () => this.zoom(2), "-": () => this.zoom(2),
        a: () => this.pan(-0.2), ArrowLeft: () => this.pan(-0.2), d: () => this.pan(0.2), ArrowRight: () => this.pan(0.2),
        0: () => this.show(0, this.run.length), Escape: () => this.unselect(), n: () => this.next(1),
      };
      const act = keys[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    });
    const move = (/** @type {PointerEvent} */ event) => {
      const middle = ((event.offsetX - this.names()) / this.plot()) * this.run.length;
      const half = (this.to - this.from) / 2;
      this.show(middle - half, middle + half);
    };
    this.minimap.addEventListener("pointerdown", (event) => {
      this.minimap.setPointerCapture(event.pointerId);
      move(event);
    });
    this.minimap.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) move(event);
    });
  }

  /** @param {Run} run */
  async choose(run) {
    this.run = run;
    this.loaded.clear();
    this.loading.clear();
    this.samples = null;
    this.found = null;
    this.range = null;
    this.panel.hidden = true;
    this.readout.textContent = run.left_out > 0 ? `${plural(run.left_out, "short thread")} not drawn.` : "";
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
    return this.place.clientWidth < 600 ? 84 : 150;
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

  /** The finest level that is not finer than the screen, as far as it is loaded. */
  spans() {
    const wanted = (2 * (this.to - this.from)) / this.plot();
    const levels = this.run.levels;
    let best = levels.findIndex((l) => l.count === 0 || this.run.length / l.count <= wanted);
    if (best < 0) best = levels.length - 1;
    const level = levels[best];
    if (level && !this.loaded.has(level.id)) void this.load(level);
    for (let i = best; i >= 0; i--) {
      const known = levels[i];
      const spans = known && this.loaded.get(known.id);
      if (known && spans) return { spans, exact: known.count === 0 };
    }
    return null;
  }

  rowHeight() {
    return LANE.height + (this.run.tasks.length > 0 ? LANE.tasks : 0);
  }

  paint() {
    const width = this.place.clientWidth - 2;
    if (width < 50) return;
    const rows = this.rowHeight();
    const full = LANE.axis + this.run.lanes.length * rows + 4;
    const height = Math.min(full, Math.max(160, Math.min(window.innerHeight * 0.7, 640)));
    this.spacer.style.height = `${full - height}px`;
    const context = prepare(this.canvas, width, height);
    const view = this.spans();
    this.paintMinimap(width);
    const top = this.body.scrollTop;
    const first = Math.max(0, Math.floor(top / rows) - 1);
    const last = Math.min(this.run.lanes.length, Math.ceil((top + height) / rows) + 1);
    for (let lane = first; lane < last; lane++) {
      const y = LANE.axis + lane * rows - top;
      const spans = view?.spans[lane];
      if (spans) this.paintLane(context, spans, y + (rows - LANE.height));
    }
    if (this.run.tasks.length) this.paintTasks(context, first, last, top);
    if (view?.exact) this.paintArrows(context, view.spans, top, first, last);
    context.fillStyle = colours.of("ground");
    context.fillRect(0, 0, this.names() - 2, height);
    context.fillStyle = colours.of("ink");
    context.textAlign = "right";
    for (let lane = first; lane < last; lane++) {
      const y = LANE.axis + lane * rows - top + (rows - LANE.height) + LANE.bar / 2 + 2;
      context.fillText(fit(context, this.run.lanes[lane] ?? "", this.names() - 12), this.names() - 8, y);
    }
    this.paintAxis(context, width, height);
    if (this.range) {
      const [a, b] = [this.xOf(this.range[0]), this.xOf(this.range[1])];
      context.fillStyle = colours.of("accent");
      context.globalAlpha = 0.14;
      context.fillRect(Math.max(a, this.names()), 0, Math.max(1, b - Math.max(a, this.names())), height);
      context.globalAlpha = 1;
    }
    if (this.pointer && this.pointer.x > this.names()) {
      context.fillStyle = colours.of("faint");
      context.fillRect(Math.round(this.pointer.x), 0, 1, height);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Spans} spans
   * @param {number} y
   */
  paintLane(context, spans, y) {
    const { start, end, kind } = spans;
    const scale = this.plot() / (this.to - this.from);
    const zero = this.names() - this.from * scale;
    const kinds = this.run.kinds;
    let colour = "";
    let covered = -1;
    for (let i = Math.max(0, after(end, this.from)); i < start.length; i++) {
      const from = /** @type {number} */ (start[i]);
      if (from >= this.to) break;
      const x1 = Math.min(zero + /** @type {number} */ (end[i]) * scale, zero + this.to * scale);
      // What lies within a pixel that is drawn already is not seen.
      if (x1 - covered < 0.5) continue;
      const x0 = Math.max(zero + from * scale, this.names(), covered);
      const of = /** @type {number} */ (kind[i]);
      const key = this.keys[kinds[of]?.[0] ?? 10] ?? "unknown";
      const dim = this.found !== null && !this.found.has(of);
      const wanted = (dim ? "dim " : "") + key;
      if (wanted !== colour) {
        colour = wanted;
        context.fillStyle = colours.of(key);
        context.globalAlpha = dim ? 0.18 : 1;
      }
      const height = LANE.bar * (HEIGHTS[/** @type {keyof typeof HEIGHTS} */ (key)] ?? 0.3);
      context.fillRect(x0, y + 2 + LANE.bar - height, Math.max(0.5, x1 - x0), height);
      covered = x1;
    }
    context.globalAlpha = 1;
  }

  /**
   * The program's own tasks as brackets above the lanes.
   * @param {CanvasRenderingContext2D} context
   * @param {number} first
   * @param {number} last
   * @param {number} top
   */
  paintTasks(context, first, last, top) {
    const rows = this.rowHeight();
    context.strokeStyle = colours.of("ink");
    context.fillStyle = colours.of("ink");
    context.textAlign = "left";
    context.font = "9px system-ui, sans-serif";
    context.beginPath();
    for (const [lane, from, to, name, depth] of this.run.tasks) {
      if (lane < first || lane >= last || to < this.from || from > this.to) continue;
      const y = Math.round(LANE.axis + lane * rows - top + 4 + Math.min(depth, 1) * 2) + 0.5;
      const [a, b] = [Math.max(this.xOf(from), this.names()), Math.min(this.xOf(to), this.names() + this.plot())];
      if (b - a < 1.5) {
        context.moveTo(a, y);
        context.lineTo(a, y + 4);
        continue;
      }
      context.moveTo(a + 0.5, y + 4);
      context.lineTo(a + 0.5, y);
      context.lineTo(b - 0.5, y);
      context.lineTo(b - 0.5, y + 4);
      if (b - a > 40) {
        const label = fit(context, this.index.names[name] ?? "", b - a - 12);
        const wide = context.measureText(label).width;
        context.fillStyle = colours.of("ground");
        context.fillRect(a + 4, y - 1, wide + 4, 3);
        context.fillStyle = colours.of("ink");
        context.fillText(label, a + 6, y + 3);
      }
    }
    context.stroke();
    context.font = "12px system-ui, sans-serif";
  }

  /**
   * From the waker to the woken, where one thread ends that wait: solid when it always was the same.
   * @param {CanvasRenderingContext2D} context
   * @param {Spans[]} lanes
   * @param {number} top
   * @param {number} first
   * @param {number} last
   */
  paintArrows(context, lanes, top, first, last) {
    const rows = this.rowHeight();
    /** @type {[number, number, number, boolean][]} */
    const arrows = [];
    for (let lane = first; lane < last; lane++) {
      const spans = lanes[lane];
      if (!spans) continue;
      for (let i = after(spans.end, this.from); i < spans.start.length; i++) {
        const end = /** @type {number} */ (spans.end[i]);
        if (end > this.to) break;
        if (spans.mixed?.[i]) continue;
        const kind = this.run.kinds[/** @type {number} */ (spans.kind[i])];
        const waker = kind?.[2];
        if (waker === null || waker === undefined || (kind?.[3] ?? 0) < 50) continue;
        arrows.push([waker, lane, end, (kind?.[3] ?? 0) >= 99.5]);
        if (arrows.length > MOST_ARROWS) return;
      }
    }
    context.strokeStyle = colours.of("ink");
    context.fillStyle = colours.of("ink");
    context.globalAlpha = 0.55;
    for (const [waker, woken, at, sure] of arrows) {
      const x = this.xOf(at);
      const y = (/** @type {number} */ lane) => LANE.axis + lane * rows - top + (rows - LANE.height) + 2 + LANE.bar / 2;
      const [from, to] = [y(waker), y(woken)];
      context.setLineDash(sure ? [] : [3, 3]);
      context.beginPath();
      context.moveTo(x, from);
      context.lineTo(x, to);
      context.stroke();
      const tip = to > from ? -5 : 5;
      context.beginPath();
      context.moveTo(x, to);
      context.lineTo(x - 3, to + tip);
      context.lineTo(x + 3, to + tip);
      context.fill();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} width
   * @param {number} height
   */
  paintAxis(context, width, height) {
    context.fillStyle = colours.of("ground");
    context.fillRect(0, 0, width, LANE.axis - 2);
    context.fillStyle = colours.of("faint");
    const about = Math.max(2, this.plot() / 130);
    const raw = (this.to - this.from) / about;
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const step = ([1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= raw)) ?? raw;
    context.textAlign = "left";
    for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) {
      const x = this.xOf(tick);
      context.globalAlpha = 0.25;
      context.fillRect(Math.round(x), 4, 1, height);
      context.globalAlpha = 1;
      const label = stamp(tick, step);
      if (x + context.measureText(label).width + 4 < width) context.fillText(label, x + 4, 10);
    }
    context.textAlign = "right";
    context.fillText(time(this.to - this.from), this.names() - 8, 10);
  }

  /** @param {number} width */
  paintMinimap(width) {
    const context = prepare(this.minimap, width, LANE.minimap);
    const level = this.run.levels[0];
    const lanes = level && this.loaded.get(level.id);
    const [left, plot, high] = [this.names(), this.plot(), LANE.minimap - 6];
    if (lanes) {
      const columns = Math.max(1, Math.floor(plot));
      const running = new Float32Array(columns);
      const waiting = new Float32Array(columns);
      for (const spans of lanes) {
        for (let i = 0; i < spans.start.length; i++) {
          const key = this.keys[this.run.kinds[/** @type {number} */ (spans.kind[i])]?.[0] ?? 10];
          const into = key === "user" || key === "system" ? running : waiting;
          const from = Math.floor((/** @type {number} */ (spans.start[i]) / this.run.length) * columns);
          const to = Math.min(columns - 1, Math.floor((/** @type {number} */ (spans.end[i]) / this.run.length) * columns));
          for (let c = from; c <= to; c++) into[c] = (into[c] ?? 0) + 1;
        }
      }
      const most = Math.max(1, lanes.length);
      for (let c = 0; c < columns; c++) {
        const r = Math.min(high, (/** @type {number} */ (running[c]) / most) * high);
        const w = Math.min(high - r, (/** @type {number} */ (waiting[c]) / most) * high);
        context.fillStyle = colours.of("user");
        context.fillRect(left + c, 3 + high - r, 1, r);
        context.fillStyle = colours.of("wait");
        context.fillRect(left + c, 3 + high - r - w, 1, w);
      }
    }
    const a = left + (this.from / this.run.length) * plot;
    const b = left + (this.to / this.run.length) * plot;
    context.fillStyle = colours.of("ground");
    context.globalAlpha = 0.6;
    context.fillRect(left, 0, a - left, LANE.minimap);
    context.fillRect(b, 0, left + plot - b, LANE.minimap);
    context.globalAlpha = 1;
    context.strokeStyle = colours.of("accent");
    context.lineWidth = 1.5;
    context.strokeRect(a, 1, Math.max(2, b - a), LANE.minimap - 2);
    context.lineWidth = 1;
    context.fillStyle = colours.of("faint");
    context.textAlign = "right";
    context.fillText("whole run", left - 8, LANE.minimap / 2);
  }

  /** Says what is under the pointer. */
  tell() {
    const view = this.spans();
    if (!this.pointer || !view || this.pointer.x < this.names()) return;
    const lane = Math.floor((this.pointer.y + this.body.scrollTop - LANE.axis) / this.rowHeight());
    const at = this.timeAt(this.pointer.x);
    const spans = view.spans[lane];
    const name = this.run.lanes[lane];
    if (!spans || name === undefined) return;
    const i = after(spans.end, at);
    const words = [`${name} at ${stamp(at, (this.to - this.from) / 100)}`];
    const start = spans.start[i];
    if (start !== undefined && start <= at) {
      const kind = this.run.kinds[/** @type {number} */ (spans.kind[i])];
      const length = /** @type {number} */ (spans.end[i]) - start;
      let what = this.titles.get(kind?.[0] ?? 10) ?? "";
      if (kind?.[1]) what += `: ${kind[1]}`;
      words.push(what);
      words.push(view.exact ? time(length) : `about ${time(length)}`);
      if (spans.mixed?.[i]) words.push("mostly; a stretch with too many switches to record each");
      const waker = kind?.[2];
      if (waker !== null && waker !== undefined) words.push(`woken by ${this.run.lanes[waker]} in ${kind?.[3]} % of that wait's time`);
    } else {
      words.push("not alive, or not recorded");
    }
    const sampled = this.samples?.[lane];
    if (sampled) {
      const j = after(sampled.time, at);
      const near = [j - 1, j].filter((k) => k >= 0 && k < sampled.time.length && Math.abs(/** @type {number} */ (sampled.time[k]) - at) < this.run.sample_ns);
      const one = near[0];
      if (one !== undefined) words.push(`sampled in ${this.index.names[/** @type {number} */ (sampled.name[one])]}`);
    }
    if (this.run.tasks.length) {
      const task = this.run.tasks.filter((t) => t[0] === lane && t[1] <= at && at <= t[2]).pop();
      if (task) words.push(`task ${this.index.names[task[3]]}, ${time(task[2] - task[1])}`);
    }
    this.readout.textContent = words.join(" · ");
  }

  /** @param {string} text */
  search(text) {
    const wanted = text.trim().toLowerCase();
    this.found = null;
    this.count.textContent = "";
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
   * The next match after the middle of the view.
   * @param {number} direction
   */
  next(direction) {
    const view = this.spans();
    if (!view || !this.found || !this.found.size) return;
    const middle = (this.from + this.to) / 2;
    let best = Infinity;
    let where = 0;
    view.spans.forEach((spans, lane) => {
      for (let i = 0; i < spans.start.length; i++) {
        if (!this.found?.has(/** @type {number} */ (spans.kind[i]))) continue;
        const at = (/** @type {number} */ (spans.start[i]) + /** @type {number} */ (spans.end[i])) / 2;
        const distance = (at - middle) * direction;
        if (distance > (this.to - this.from) * 1e-6 && distance < best) [best, where] = [distance, lane];
      }
    });
    if (best === Infinity) return;
    this.body.scrollTop = where * this.rowHeight() - 60;
    const half = (this.to - this.from) / 2;
    this.show(middle + direction * best - half, middle + direction * best + half);
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
    if (done) this.sum();
    this.draw();
  }

  /** What happened in the selected range. */
  sum() {
    const range = this.range;
    const finest = [...this.run.levels].reverse().map((l) => this.loaded.get(l.id)).find((s) => s);
    if (!range || !finest) return;
    const [from, to] = range;
    /** @type {Map<number, number>} */
    const kinds = new Map();
    /** @type {[string, number, number][]} */
    const threads = [];
    /** @type {Map<number, number>} */
    const names = new Map();
    let samples = 0;
    finest.forEach((spans, lane) => {
      let [running, waiting] = [0, 0];
      for (let i = after(spans.end, from); i < spans.start.length; i++) {
        const start = /** @type {number} */ (spans.start[i]);
        if (start >= to) break;
        const inside = Math.min(to, /** @type {number} */ (spans.end[i])) - Math.max(from, start);
        const kind = /** @type {number} */ (spans.kind[i]);
        kinds.set(kind, (kinds.get(kind) ?? 0) + inside);
        const key = this.keys[this.run.kinds[kind]?.[0] ?? 10];
        if (key === "user" || key === "system") running += inside;
        else waiting += inside;
      }
      if (running + waiting > 0) threads.push([this.run.lanes[lane] ?? "", running, waiting]);
      const sampled = this.samples?.[lane];
      for (let i = sampled ? after(sampled.time, from) : 0; sampled && i < sampled.time.length; i++) {
        if (/** @type {number} */ (sampled.time[i]) > to) break;
        const name = /** @type {number} */ (sampled.name[i]);
        names.set(name, (names.get(name) ?? 0) + 1);
        samples++;
      }
    });
    const all = [...kinds.values()].reduce((a, b) => a + b, 0) || 1;
    /** @type {Map<number, number>} */
    const classes = new Map();
    for (const [kind, ns] of kinds) {
      const of = this.run.kinds[kind]?.[0] ?? 10;
      classes.set(of, (classes.get(of) ?? 0) + ns);
    }
    const sorted = (/** @type {Map<number, number>} */ map) => [...map].sort((a, b) => b[1] - a[1]);
    const rows = (/** @type {string} */ title, /** @type {string[][]} */ cells) =>
      el("div", {}, el("h4", {}, title), el("table", { class: "plain" }, el("tbody", {},
        ...cells.map((row) => el("tr", {}, ...row.map((cell, i) => el("td", { class: i ? "n" : "t" }, cell)))))));
    const waits = sorted(kinds).filter(([kind]) => !["user", "system"].includes(this.keys[this.run.kinds[kind]?.[0] ?? 10] ?? "") && this.run.kinds[kind]?.[1]);
    this.panel.replaceChildren(
      el("div", { class: "tools" }, el("strong", {}, `${stamp(from, to - from)} to ${stamp(to, to - from)}: ${time(to - from)}`),
        el("button", { type: "button", click: () => this.show(from, to) }, "zoom to it"),
        el("button", { type: "button", click: () => this.unselect() }, "end the selection")),
      el("div", { class: "columns" },
        rows("What the threads did", sorted(classes).map(([of, ns]) => [this.titles.get(of) ?? "", time(ns), percent(ns / all)])),
        rows("Waits", waits.slice(0, 8).map(([kind, ns]) => [this.run.kinds[kind]?.[1] ?? "", time(ns), percent(ns / all)])),
        rows("Functions", sorted(names).slice(0, 8).map(([name, n]) => [this.index.names[name] ?? "", plural(n, "sample"), percent(n / (samples || 1))])),
        rows("Threads", threads.sort((a, b) => b[1] - a[1]).slice(0, 8).map(([name, r, w]) => [name, `${time(r)} running`, percent(r / (r + w))]))));
    this.panel.hidden = false;
  }
}

/**
 * A moment, with the digits that tell it from its neighbours.
 * @param {number} ns
 * @param {number} step
 */
function stamp(ns, step) {
  if (ns === 0) return "0";
  const [factor, unit] = step >= 1e7 || ns >= 1e10 ? [1e9, "s"] : step >= 1e4 || ns >= 1e7 ? [1e6, "ms"] : [1e3, "µs"];
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / factor))));
  return `${(ns / factor).toFixed(places)} ${unit}`;
}
