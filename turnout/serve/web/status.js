// @ts-check
// The status line: the one row of the status table, as it changes.

import { one, shape } from "./dom.js";

/** @import { About } from "./about.js" */
/** @typedef {Record<string, string | number | null>} Row */

const RETRY_MS = 2000; // when the browser itself has given up; it does so on an answer that is not a stream

/** @type {Record<string, string>} */
const SHAPES = { live: "shape-live", degraded: "shape-degraded", stopped: "shape-stopped" };

/**
 * Call `tell` with the status row now and whenever it changes.
 * @param {About} about
 * @param {(row: Row) => void} tell
 */
export function follow(about, tell) {
  const source = new EventSource(`/api/tables/${about.tables.status}/changes`);
  for (const kind of ["snapshot", "change", "swap"]) {
    source.addEventListener(kind, (event) => {
      const data = JSON.parse(event.data);
      const row = (data.rows ?? data.upserts).at(-1);
      if (row) tell(row);
    });
  }
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS, about, tell);
  };
}

/**
 * @param {HTMLElement} line
 * @param {About} about
 * @param {Row} row
 */
export function show(line, about, row) {
  const { left, right, join } = about.fields;
  put(line, "state", row.state);
  put(line, "left", row[left]);
  put(line, "right", row[right]);
  put(line, "join", row[join]);
  put(line, "generation", row.generation);
  put(line, "message", row.message);
  showTime(one(line, "time", HTMLTimeElement), row.lastApplied);
  const state = String(row.state);
  one(line, ".state", HTMLElement).dataset.state = state in SHAPES ? state : "busy";
  shape(one(line, ".state", HTMLElement), SHAPES[state] ?? "shape-busy");
  shape(one(line, ".type", HTMLElement), `join-${row[join]}`);
}

/**
 * @param {HTMLElement} line
 * @param {string} name
 * @param {string | number | null} value
 */
function put(line, name, value) {
  const place = one(line, `[data-value="${name}"]`, HTMLElement);
  place.textContent = String(value ?? "–");
  place.title = place.textContent; // a long one is cut
}

/**
 * @param {HTMLTimeElement} place
 * @param {string | number | null} value ISO 8601
 */
function showTime(place, value) {
  if (value === null) return;
  const moment = new Date(value);
  const today = moment.toDateString() === new Date().toDateString();
  place.dateTime = String(value);
  place.title = String(value);
  place.textContent = moment.toLocaleString([], { dateStyle: today ? undefined : "medium", timeStyle: "medium" });
}
