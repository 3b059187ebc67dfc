// @ts-check
// Lists of rows that come and go.

/**
 * Show these rows, in this order. What is there already stays the element it is, so that the focus and what is selected
 * stay too.
 * @template {{_row: string, ts: string}} Row
 * @param {HTMLElement} list
 * @param {Row[]} rows
 * @param {(row: Row) => HTMLElement} make
 */
export function renew(list, rows, make) {
  const present = new Map(Array.from(list.children, (item) => [/** @type {HTMLElement} */ (item).dataset.row, item]));
  const wanted = new Set(rows.map(identity));
  for (const [id, item] of present) if (!wanted.has(id ?? "")) item.remove();
  let next = list.firstElementChild;
  for (const row of rows) {
    const id = identity(row);
    const item = present.get(id) ?? make(row);
    if (item === next) next = next.nextElementSibling;
    else list.insertBefore(item, next);
    /** @type {HTMLElement} */ (item).dataset.row = id;
  }
}

/** @param {{_row: string, ts: string}} row whose number begins anew when the server does */
export function identity({ _row, ts }) {
  return `${ts} ${_row}`;
}
