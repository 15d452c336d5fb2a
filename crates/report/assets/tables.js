// Tables that can be sorted, searched and unfolded.

/** @param {HTMLTableElement} table */
function enliven(table) {
  const body = table.tBodies[0];
  const head = table.tHead?.rows[0];
  if (!body || !head) return;
  const rows = [...body.rows];
  const fold = Number(table.dataset["fold"] ?? 12);
  let open = rows.length <= fold + 3;
  let wanted = "";
  table.classList.add("sortable");
  const more = el("button", { type: "button", class: "fold", click: () => {
    open = !open;
    show();
  } });
  const show = () => {
    let shown = 0;
    for (const row of body.rows) {
      const matches = !wanted || (row.textContent ?? "").toLowerCase().includes(wanted);
      row.hidden = !matches || (!open && !wanted && shown >= fold);
      if (!row.hidden) shown++;
    }
    more.hidden = rows.length <= fold + 3 || wanted !== "";
    more.textContent = open ? "show fewer" : `show ${Number(table.dataset["all"] ?? 0) > rows.length ? "the first" : "all"} ${rows.length}`;
  };
  [...head.cells].forEach((cell, column) => {
    const button = el("button", { type: "button", title: cell.title, click: () => sort(column) }, cell.textContent ?? "");
    cell.replaceChildren(button);
  });
  const sort = (/** @type {number} */ column) => {
    const cell = head.cells[column];
    if (!cell) return;
    const numeric = cell.classList.contains("n");
    const before = cell.getAttribute("aria-sort");
    const direction = before === (numeric ? "descending" : "ascending") ? -1 : 1;
    for (const other of head.cells) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", (direction === 1) === numeric ? "descending" : "ascending");
    const value = (/** @type {HTMLTableRowElement} */ row) => row.cells[column];
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (numeric) {
        const number = (/** @type {HTMLTableCellElement | undefined} */ c) => (c?.dataset["v"] === undefined ? -Infinity : Number(c.dataset["v"]));
        return (number(y) - number(x)) * direction || 0;
      }
      return (x?.textContent ?? "").localeCompare(y?.textContent ?? "") * direction;
    });
    body.append(...rows);
    show();
  };
  const place = table.closest(".scroll") ?? table;
  if (rows.length > 8) {
    const input = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: "filter", "aria-label": `filter ${table.parentElement?.getAttribute("aria-label") ?? ""}`,
      input: () => {
        wanted = input.value.trim().toLowerCase();
        show();
      } }));
    place.before(el("div", { class: "tools" }, input));
  }
  place.after(more);
  show();
  window.addEventListener("beforeprint", () => {
    open = true;
    show();
  });
}
