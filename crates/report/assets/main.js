// Brings the page to life. Whatever fails here leaves the text, the tables and the still pictures as they are.

function start() {
  for (const table of document.querySelectorAll("table.data")) enliven(/** @type {HTMLTableElement} */ (table));
  const index = readIndex();
  const lanes = document.getElementById("lanes-view");
  const flame = document.getElementById("flame");
  if (typeof DecompressionStream === "undefined" || !index.runs) return;
  /** @type {{draw: () => void}[]} */
  const views = [];
  if (lanes && index.runs.length) {
    lanes.hidden = false;
    views.push(new Lanes(lanes, index));
    const still = document.getElementById("lanes-still");
    if (still) still.hidden = true;
  }
  if (flame && index.flame.length > 1) {
    flame.hidden = false;
    views.push(new Flame(flame, index));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.known.clear();
    for (const view of views) view.draw();
  });
}

start();
