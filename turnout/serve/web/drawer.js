// @ts-check
// The drawer: the log as it goes on, and the records that could not be used.

import { copy, made, one } from "./dom.js";
import { renew } from "./rows.js";
import { moment } from "./words.js";

/** @import { About } from "./about.js" */
/** @typedef {{_row: string, ts: string, level: string, msg: string}} Line */
/** @typedef {{_row: string, ts: string, topic: string, partition: number, offset: number, reason: string, value: string}} Rejected */

const CONTROL_MESSAGE = /(control message )(\d+):(\d+)/i;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

export class Drawer {
  #root = one(document, "#drawer", HTMLElement);
  #lines = one(document, "#lines", HTMLOListElement);
  #level = one(document, "#level", HTMLSelectElement);
  #words = one(document, "#words", HTMLInputElement);
  #follow = one(document, "#follow", HTMLInputElement);
  #about;
  /** @type {Line[]} the newest first */
  #log = [];
  /** @type {Rejected[]} the newest first */
  #rejected = [];

  /** @param {About} about */
  constructor(about) {
    this.#about = about;
    this.#level.addEventListener("change", () => this.#draw());
    this.#words.addEventListener("input", () => this.#draw());
    this.#follow.addEventListener("change", () => this.#toEnd());
    // Whoever scrolls back reads; whoever is back at the end follows again.
    this.#lines.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#lines;
      this.#follow.checked = scrollHeight - scrollTop - clientHeight < 8;
    });
    for (const button of document.querySelectorAll("[data-drawer]")) {
      button.addEventListener("click", () => this.toggle(/** @type {HTMLElement} */ (button).dataset.drawer ?? ""));
    }
    one(this.#root, ".close", HTMLButtonElement).addEventListener("click", () => this.#close());
    this.#root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
    });
  }

  /**
   * Show this part, or hide it if it is what is shown.
   * @param {string} part
   */
  toggle(part) {
    const hide = !this.#root.hidden && this.#root.dataset.shows === part;
    this.#root.hidden = hide;
    this.#root.dataset.shows = part;
    for (const button of document.querySelectorAll("[data-drawer]")) {
      const its = /** @type {HTMLElement} */ (button).dataset.drawer === part;
      button.setAttribute("aria-expanded", String(its && !hide));
    }
    if (hide) return;
    this.#draw();
    one(this.#root, `ol[data-part="${part}"]`, HTMLOListElement).focus();
  }

  #close() {
    const part = this.#root.dataset.shows ?? "";
    this.toggle(part);
    one(document, `[data-drawer="${part}"]`, HTMLButtonElement).focus();
  }

  /** @param {Line[]} lines the newest first */
  log(lines) {
    this.#log = lines;
    this.#draw();
  }

  /** @param {Rejected[]} records the newest first */
  rejected(records) {
    this.#rejected = records;
    this.#draw();
  }

  #draw() {
    if (this.#root.hidden) return;
    if (this.#root.dataset.shows === "log") this.#drawLog();
    else this.#drawRejected();
  }

  #drawRejected() {
    one(this.#root, ".none", HTMLElement).hidden = this.#rejected.length > 0;
    renew(one(document, "#records", HTMLOListElement), this.#rejected, (record) => this.#record(record));
  }

  #drawLog() {
    const least = LEVELS.indexOf(this.#level.value);
    const words = this.#words.value.trim().toLowerCase();
    const shown = this.#log
      .filter((line) => LEVELS.indexOf(line.level) >= least && line.msg.toLowerCase().includes(words))
      .reverse();
    renew(this.#lines, shown, (line) => this.#line(line));
    this.#toEnd();
  }

  #toEnd() {
    if (this.#follow.checked) this.#lines.scrollTop = this.#lines.scrollHeight;
  }

  /** @param {Line} line */
  #line({ ts, level, msg }) {
    return made(
      "li",
      { "data-level": level },
      made("time", { datetime: ts, title: ts }, moment(ts)),
      made("b", {}, level),
      this.#linked(msg),
    );
  }

  /**
   * A line that speaks of a control message leads to it.
   * @param {string} text
   */
  #linked(text) {
    const found = CONTROL_MESSAGE.exec(text);
    if (!found) return made("span", {}, text);
    const [all, words, partition, offset] = found;
    const button = made("button", { type: "button", class: "link" }, `${partition}:${offset}`);
    button.addEventListener("click", () => this.#showControl(partition, offset));
    const end = found.index + all.length;
    return made("span", {}, text.slice(0, found.index), words, button, text.slice(end));
  }

  /**
   * @param {string} partition
   * @param {string} offset
   */
  async #showControl(partition, offset) {
    const filter = new URLSearchParams([
      ["filter", `partition==${partition}`],
      ["filter", `offset==${offset}`],
    ]);
    const answer = await fetch(`/api/tables/${this.#about.tables.control}?${filter}`).catch(() => null);
    const [row] = answer?.ok ? (await answer.json()).rows : [];
    const dialog = one(document, "#record", HTMLDialogElement);
    one(dialog, "h2", HTMLElement).textContent = `Control message ${partition}:${offset}`;
    const facts = row
      ? Object.entries(row)
      : [["outcome", "It is not in the table any more, or the server cannot be reached."]];
    one(dialog, "dl", HTMLElement).replaceChildren(
      ...facts.flatMap(([name, value]) => [made("dt", {}, name), made("dd", {}, String(value ?? "not known yet"))]),
    );
    dialog.showModal();
  }

  /** @param {Rejected} record */
  #record({ ts, topic, partition, offset, reason, value }) {
    const button = made("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      await copy(value);
      button.textContent = "Copied";
    });
    return made(
      "li",
      {},
      made("time", { datetime: ts, title: ts }, moment(ts)),
      made("span", { class: "where" }, `${topic}/${partition}/${offset}`),
      made("span", {}, reason),
      made("code", {}, value),
      button,
    );
  }
}
