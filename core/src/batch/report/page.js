// Sorts and filters the table of messages. Without it the table is complete, in the order of the list.
"use strict";
(() => {
  const table = document.getElementById("messages");
  if (!table) return;
  const controls = document.getElementById("controls"), find = document.getElementById("find");
  const choice = document.getElementById("sort"), shown = document.getElementById("shown");
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], rows = [...body.rows];
  const states = [...controls.querySelectorAll("[name=state]")];
  const texts = new Map();
  let column = 0, direction = 1;

  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const keyOf = (row) => {
    const cell = row.cells[column];
    if (!heads[column].hasAttribute("data-n")) return cell.textContent;
    const value = cell.dataset.v ?? cell.textContent;
    return value === "" ? "" : Number(value);
  };
  const sort = (at, to) => {
    column = at;
    direction = to;
    const compare = heads[at].hasAttribute("data-n") ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
    const keyed = rows.map((row, place) => [keyOf(row), place, row]);
    // An empty cell is last in either direction.
    keyed.sort(([a, m], [b, n]) => (a === "") - (b === "") || direction * compare(a, b) || m - n);
    body.append(...keyed.map(([, , row]) => row));
    heads.forEach((head, n) => head.setAttribute("aria-sort", n === at ? (to > 0 ? "ascending" : "descending") : "none"));
    choice.value = String(at);
  };
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hidden = new Set(states.filter((state) => !state.checked).map((state) => state.value));
    let count = 0;
    for (const row of rows) {
      // A row with two states is shown while one of them is.
      const fits = row.dataset.s.split(" ").some((state) => !hidden.has(state)) && words.every((word) => textOf(row).includes(word));
      if (row.hidden === fits) row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${rows.length} shown`;
  };

  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", at === 0 ? "ascending" : "none");
    button.addEventListener("click", () => sort(at, column === at ? -direction : 1));
  });
  let timer = 0;
  find.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 80);
  });
  states.forEach((state) => state.addEventListener("change", filter));
  choice.addEventListener("change", () => sort(Number(choice.value), 1));
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  filter();
})();
