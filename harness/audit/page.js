"use strict";
document.querySelectorAll("table.sortable").forEach(function (table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const value = function (row, at) {
    const cell = row.cells[at];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  heads.forEach(function (head, at) {
    head.querySelector("button").addEventListener("click", function () {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(function (other) { other.setAttribute("aria-sort", "none"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = Array.from(body.rows);
      rows.sort(function (one, other) {
        const a = value(one, at), b = value(other, at);
        const order = typeof a === "number" && typeof b === "number"
          ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
        return down ? -order : order;
      });
      body.append.apply(body, rows);
    });
  });
});
