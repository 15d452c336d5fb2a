// The flame graphs: call paths from the thread's start at the top to the innermost function, as wide as their processor
// time, or the time that threads waited there, at one thread count, and coloured by their growth since another.

/** Part of the whole growth from which a call path has full colour. */
const FULL = 0.25;
/** Standard errors within which a change may be chance: see growth.rs. */
const ERRORS = 1.96;
/** What stands below while nothing is pointed at. */
const FLAME_HINT = "Point at a call path for its numbers; a click zooms into it, one on the topmost zooms out.";

const FLAME_ROW = 19;

/**
 * What a flame graph is of.
 * @typedef {{nodes: number[][], title: string, what: string, whole: string, called: string, sampled: boolean}} Tree its heading, what its
 *   time is, the same as a noun, what it is called to those who do not see it, and whether its times are estimated from samples
 */

class Flame {
  /**
   * @param {HTMLElement} place
   * @param {Index} index
   * @param {Tree} tree
   */
  constructor(place, index, tree) {
    this.index = index;
    this.tree = tree;
    this.place = place;
    /** @type {number[][]} */
    this.children = tree.nodes.map(() => []);
    tree.nodes.forEach((node, i) => {
      const parent = node[0];
      if (parent !== null && parent !== undefined) this.children[parent]?.push(i);
    });
    const focus = index.runs.findIndex((r) => r.threads === index.focus);
    this.now = focus < 0 ? index.runs.length - 1 : focus;
    this.base = 0;
    this.root = 0;
    this.wanted = "";
    /** The node that is pointed at. @type {number | null} */
    this.pointed = null;
    /** @type {{x: number, y: number, w: number, node: number}[]} */
    this.boxes = [];
    this.draw = onFrame(() => this.paint());
    const chooser = (/** @type {number} */ selected, /** @type {string} */ label, /** @type {(i: number) => void} */ act) => {
      const select = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": label, change: () => { act(Number(select.value)); this.draw(); } }));
      index.runs.forEach((run, i) => select.append(el("option", { value: i, selected: i === selected }, run.threads > 0 ? plural(run.threads, index.counted) : "one run")));
      return select;
    };
    const search = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: "search a function", "aria-label": `search the ${tree.called}`,
      input: () => { this.wanted = search.value.trim().toLowerCase(); this.pointed = null; this.draw(); } }));
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { tabindex: 0, role: "img", "aria-label": `Call paths as a ${tree.called}; the table below has the numbers by function and place` }));
    this.readout = el("p", { class: "readout" });
    const two = index.runs.length > 1;
    place.append(el("h3", {}, tree.title), el("div", { class: "tools" },
      el("span", { class: "group" }, "width:", chooser(this.now, `${index.counted} count shown in the ${tree.called}`, (i) => (this.now = i))),
      ...(two ? [el("span", { class: "group" }, "colour: against", chooser(0, `${index.counted} count compared with in the ${tree.called}`, (i) => (this.base = i)))] : []),
      search, el("button", { type: "button", click: () => this.go(0) }, "whole tree"), el("span", { class: "spring" }),
      ...(two ? [el("span", { class: "scale" }, "less", el("span", { class: "swatch d-less" }), el("span", { class: "swatch d-same" }), el("span", { class: "swatch d-more" }), `more; ${tree.sampled ? "grey: may be chance; " : ""}full colour: a quarter of the whole change`)] : [])),
      el("div", { class: "flame" }, el("div", { class: "box" }, this.canvas)), this.readout);
    this.canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (box) this.go(box.node === this.root ? Math.max(0, this.tree.nodes[box.node]?.[0] ?? 0) : box.node);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.pointed = this.at(event)?.node ?? null;
      this.tell();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.tell();
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.go(0);
    });
    new ResizeObserver(this.draw).observe(place);
  }

  /** @param {number} root */
  go(root) {
    this.root = root;
    this.pointed = null;
    this.draw();
  }

  /** Says the numbers of what is pointed at; else those of what was searched for; else what one can do. */
  tell() {
    if (this.pointed !== null) this.readout.textContent = this.words(this.pointed);
    else if (this.wanted) this.readout.textContent = this.matched();
    else this.readout.replaceChildren(el("span", { class: "faint" }, FLAME_HINT));
  }

  /** How much of what is shown lies at or below a match: a match inside another one counts once. */
  matched() {
    let [seconds, paths] = [0, 0];
    /** @type {number[]} */
    const open = [this.root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      const spent = this.spent(node, this.now);
      if (!this.name(node).toLowerCase().includes(this.wanted)) open.push(...(this.children[node] ?? []));
      else if (spent > 0) [seconds, paths] = [seconds + spent, paths + 1];
    }
    const whole = this.root === 0 ? `all ${this.tree.whole}` : this.name(this.root);
    return paths ? `Matched: ${time(seconds * 1e9)}, ${percent(seconds / (this.spent(this.root, this.now) || 1))} of ${whole}, on ${plural(paths, "call path")}` : `No match in ${whole}.`;
  }

  /** @param {MouseEvent} event */
  at(event) {
    return this.boxes.find((b) => event.offsetX >= b.x && event.offsetX < b.x + b.w && event.offsetY >= b.y && event.offsetY < b.y + FLAME_ROW);
  }

  /**
   * @param {number} node
   * @param {number} run
   */
  spent(node, run) {
    return this.tree.nodes[node]?.[2 + run] ?? 0;
  }

  /** @param {number} node */
  name(node) {
    return this.index.names[this.tree.nodes[node]?.[1] ?? 0] ?? "";
  }

  /** @param {number} node */
  words(node) {
    const [now, base] = [this.spent(node, this.now), this.spent(node, this.base)];
    let words = `${this.name(node)}: ${time(now * 1e9)} ${this.tree.what}, ${percent(now / (this.spent(0, this.now) || 1))}`;
    if (this.now !== this.base) words += `; was ${time(base * 1e9)}, ${now >= base ? "+" : "−"}${time(Math.abs(now - base) * 1e9)}`;
    return words;
  }

  /** @param {number} node */
  colour(node) {
    if (this.now === this.base) return ["same", 1];
    const grown = this.spent(node, this.now) - this.spent(node, this.base);
    const each = (/** @type {number} */ run) => (this.tree.sampled ? this.index.runs[run]?.each ?? 0 : 0);
    const [now, base] = [each(this.now), each(this.base)];
    const error = Math.sqrt(this.spent(node, this.now) * now + this.spent(node, this.base) * base);
    if (Math.abs(grown) < ERRORS * error) return ["same", 1];
    // Relative to the whole growth: a function that explains a quarter of it gets full colour.
    const all = Math.max(Math.abs(this.spent(0, this.now) - this.spent(0, this.base)), this.spent(0, this.now) * 0.05) || 1;
    const strength = Math.min(1, Math.abs(grown) / all / FULL);
    return strength < 0.04 ? ["same", 1] : [grown > 0 ? "more" : "less", 0.25 + 0.75 * strength];
  }

  paint() {
    const width = this.place.clientWidth - 4;
    if (width < 50) return;
    /** @type {{x: number, y: number, w: number, node: number}[]} */
    const boxes = [];
    const total = this.spent(this.root, this.now) || 1;
    let deepest = 1;
    const lay = (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ depth) => {
      const w = (this.spent(node, this.now) / total) * width;
      if (w < 0.6) return;
      boxes.push({ x, y: depth * FLAME_ROW, w, node });
      deepest = Math.max(deepest, depth + 1);
      for (const child of this.children[node] ?? []) {
        lay(child, x, depth + 1);
        x += (this.spent(child, this.now) / total) * width;
      }
    };
    lay(this.root, 0, 0);
    this.boxes = boxes;
    this.tell();
    const context = prepare(this.canvas, width, deepest * FLAME_ROW + 2);
    context.textAlign = "left";
    for (const { x, y, w, node } of boxes) {
      const [key, alpha] = this.colour(node);
      const name = this.name(node);
      const found = this.wanted !== "" && name.toLowerCase().includes(this.wanted);
      context.globalAlpha = this.wanted && !found ? 0.15 : Number(alpha);
      context.fillStyle = colours.of(String(key));
      context.fillRect(x, y, Math.max(0.5, w - 1), FLAME_ROW - 1);
      context.globalAlpha = 1;
      if (found) {
        context.strokeStyle = colours.of("ink");
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 2), FLAME_ROW - 2);
      }
      if (w > 28) {
        context.fillStyle = inkOn(String(key), this.wanted && !found ? 0.15 : Number(alpha));
        context.fillText(fit(context, name, w - 8), x + 4, y + FLAME_ROW / 2);
      }
    }
  }
}
