// The tools beside the lanes, the pointer and the keys.

/**
 * What stands above and below the lanes.
 * @param {Lanes} lanes
 */
function addTools(lanes) {
  const chooser = /** @type {HTMLSelectElement} */ (
    el("select", { "aria-label": `${lanes.index.counted} count`, change: () => {
      const run = lanes.index.runs[Number(chooser.value)];
      if (run) void lanes.choose(run);
    } })
  );
  lanes.index.runs.forEach((run, i) => {
    const selected = run === lanes.run;
    chooser.append(el("option", { value: i, selected }, run.threads > 0 ? plural(run.threads, lanes.index.counted) : "one run"));
  });
  const search = /** @type {HTMLInputElement} */ (
    el("input", { type: "search", placeholder: "search: lock, call, function …", "aria-label": "search the lanes", input: () => lanes.search(search.value),
      keydown: (event) => {
        if (/** @type {KeyboardEvent} */ (event).key === "Enter") void lanes.next(/** @type {KeyboardEvent} */ (event).shiftKey ? -1 : 1);
      } })
  );
  const button = (/** @type {string} */ text, /** @type {string} */ what, /** @type {() => void} */ act) =>
    el("button", { type: "button", title: what, "aria-label": what, click: act }, text);
  const tools = el("div", { class: "tools" }, chooser,
    button("+", "zoom in (w)", () => lanes.zoom(0.5)), button("−", "zoom out (s)", () => lanes.zoom(2)),
    button("◂", "earlier (a)", () => lanes.pan(-0.3)), button("▸", "later (d)", () => lanes.pan(0.3)),
    button("whole run", "show the whole run (0)", () => lanes.show(0, lanes.run.length)),
    search, button("next", "next match (Enter)", () => void lanes.next(1)), lanes.count,
    el("span", { class: "spring" }),
    el("span", { class: "hint" }, "drag: select a range · ctrl + wheel: zoom · shift + wheel: pan"));
  lanes.place.append(tools, el("div", { class: "lanes" }, lanes.minimap, lanes.body), lanes.readout, lanes.panel);
  lanes.body.addEventListener("scroll", lanes.draw);
  new ResizeObserver(lanes.draw).observe(lanes.place);
}

/**
 * Legend of what is drawn besides the bars, as far as this run has it.
 * @param {Lanes} lanes
 */
function showMarks(lanes) {
  const legend = lanes.place.parentElement?.querySelector(".lanes-legend");
  for (const old of legend?.querySelectorAll(".of-run") ?? []) old.remove();
  const classes = new Set(lanes.run.kinds.map((kind) => kind[0]));
  for (const item of legend?.querySelectorAll("[data-class]") ?? [])
    /** @type {HTMLElement} */ (item).hidden = !classes.has(Number(/** @type {HTMLElement} */ (item).dataset["class"]));
  const entry = (/** @type {HTMLElement} */ mark, /** @type {string} */ text) => legend?.append(el("li", { class: "of-run" }, mark, text));
  if (lanes.run.tasks.length) entry(el("span", { class: "mark task" }), "task that the program named");
  if (lanes.run.kinds.some((kind) => kind[2] !== null && (kind[3] ?? 0) >= 50))
    entry(el("span", { class: "mark" }, "↓"), "woken by that thread (zoom in to see each); dashed: mostly by it");
}

/**
 * Pointer and keys.
 * @param {Lanes} lanes
 */
function listen(lanes) {
  const canvas = lanes.canvas;
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      lanes.zoom(Math.exp(event.deltaY * 0.0025), lanes.timeAt(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      lanes.pan((event.deltaX || event.deltaY) / lanes.plot());
    }
  }, { passive: false });
  let start = /** @type {number | null} */ (null);
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    lanes.pointer = { x: event.offsetX, y: event.offsetY };
    if (start !== null && Math.abs(event.offsetX - start) > 3) lanes.select(lanes.timeAt(start), lanes.timeAt(event.offsetX), false);
    lanes.draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (start !== null && Math.abs(event.offsetX - start) > 3) lanes.select(lanes.timeAt(start), lanes.timeAt(event.offsetX), true);
    start = null;
  });
  canvas.addEventListener("pointercancel", () => (start = null));
  canvas.addEventListener("pointerleave", () => {
    // What it last said stays, to be read and copied, until the picture changes.
    lanes.pointer = null;
    lanes.draw();
  });
  canvas.addEventListener("dblclick", (event) => lanes.zoom(0.25, lanes.timeAt(event.offsetX)));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      w: () => lanes.zoom(0.5), "+": () => lanes.zoom(0.5), s: () => lanes.zoom(2), "-": () => lanes.zoom(2),
      a: () => lanes.pan(-0.2), ArrowLeft: () => lanes.pan(-0.2), d: () => lanes.pan(0.2), ArrowRight: () => lanes.pan(0.2),
      0: () => lanes.show(0, lanes.run.length), Escape: () => lanes.unselect(), n: () => void lanes.next(1),
    };
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  const move = (/** @type {PointerEvent} */ event) => {
    const middle = ((event.offsetX - lanes.names()) / lanes.plot()) * lanes.run.length;
    const half = (lanes.to - lanes.from) / 2;
    lanes.show(middle - half, middle + half);
  };
  lanes.minimap.addEventListener("pointerdown", (event) => {
    lanes.minimap.setPointerCapture(event.pointerId);
    move(event);
  });
  lanes.minimap.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) move(event);
  });
}
