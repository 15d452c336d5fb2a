// Brings the page to life. Whatever fails here leaves the text, the tables and the still pictures as they are.

function start() {
  for (const table of document.querySelectorAll("table.data")) enliven(/** @type {HTMLTableElement} */ (table));
  const tiny = [...document.querySelectorAll("tr.tiny")];
  const account = document.getElementById("account-lines");
  if (account && tiny.length > 2) {
    const show = (/** @type {boolean} */ open) => {
      for (const row of tiny) /** @type {HTMLElement} */ (row).hidden = !open;
      button.textContent = open ? "show fewer" : `show ${tiny.length} lines below half a percent`;
    };
    const button = el("button", { type: "button", class: "fold", click: () => show((/** @type {HTMLElement} */ (tiny[0])).hidden === true) });
    (account.closest(".scroll") ?? account).after(button);
    show(false);
    window.addEventListener("beforeprint", () => show(true));
  }
  // On paper nothing can be unfolded, so everything is unfolded for printing.
  /** @type {HTMLDetailsElement[]} */
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details")].filter((one) => !one.open);
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
  const index = readIndex();
  const lanes = document.getElementById("lanes-view");
  if (typeof DecompressionStream === "undefined" || !index.runs) return;
  /** @type {{draw: () => void}[]} */
  const views = [];
  if (lanes && index.runs.length) {
    lanes.hidden = false;
    views.push(new Lanes(lanes, index, typeof Server === "undefined" ? null : new Server()));
    const still = document.getElementById("lanes-still");
    if (still) still.hidden = true;
  }
  /** @type {[string, Tree][]} */
  const trees = [
    ["flame", { nodes: index.flame, title: "Call paths", what: "of processor time", called: "flame graph", sampled: true }],
    ["flame-waits", { nodes: index.waited, title: "Waits by call path", what: "of waiting", called: "flame graph of waits", sampled: false }],
  ];
  for (const [id, tree] of trees) {
    const flame = document.getElementById(id);
    if (!flame || tree.nodes.length < 2) continue;
    flame.hidden = false;
    views.push(new Flame(flame, index, tree));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.known.clear();
    for (const view of views) view.draw();
  });
}

start();
