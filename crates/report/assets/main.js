// Brings the page to life. Whatever fails here leaves the text, the tables and the still pictures as they are.

/** Marks in the contents the section that is read. */
function follow() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href")?.slice(1), /** @type {HTMLElement} */ (link)]));
  const sections = [...document.querySelectorAll("main > section")].filter((section) => links.has(section.id));
  const bar = document.querySelector("nav");
  let at = "";
  const mark = onFrame(() => {
    // The last one that begins above the first third of the window; at the end of the page, the last one.
    const line = (bar?.clientHeight ?? 0) + window.innerHeight / 3;
    const ended = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const begun = sections.filter((section) => section.getBoundingClientRect().top < line);
    const id = (ended ? sections[sections.length - 1] : begun[begun.length - 1] ?? sections[0])?.id ?? "";
    if (id === at) return;
    links.get(at)?.removeAttribute("aria-current");
    at = id;
    const link = links.get(id);
    link?.setAttribute("aria-current", "true");
    // Where the contents do not fit, they are scrolled along; not by scrollIntoView, which would scroll the page too.
    const list = link?.closest("ul");
    if (link && list) list.scrollLeft += link.getBoundingClientRect().left - list.getBoundingClientRect().left - list.clientWidth / 3;
  });
  window.addEventListener("scroll", mark, { passive: true });
  window.addEventListener("resize", mark);
  mark();
}

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
  follow();
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
    ["flame", { nodes: index.flame, title: "Call paths", what: "of processor time", whole: "processor time", called: "flame graph", sampled: true }],
    ["flame-waits", { nodes: index.waited, title: "Waits by call path", what: "of waiting", whole: "waiting", called: "flame graph of waits", sampled: false }],
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
