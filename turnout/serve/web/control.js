// @ts-check
// The form: what is filled in becomes a control message, and what became of that is shown.

import { one } from "./dom.js";

/** @import { About } from "./about.js" */
/** @import { Row } from "./status.js" */
/** @typedef {{id?: string, outcome?: string, error?: string}} Answer */

const OUTCOMES = [
  { begins: "applied", kind: "done", word: "Applied" },
  { begins: "no change", kind: "same", word: "No change" },
  { begins: "superseded", kind: "passed", word: "Superseded" },
  { begins: "rejected", kind: "refused", word: "Rejected" },
];

export class ControlForm {
  #form;
  #about;
  #button;
  #outcome;
  #sent = 0; // what became of an older message is not shown over a newer one

  /**
   * @param {HTMLFormElement} form
   * @param {About} about
   */
  constructor(form, about) {
    this.#form = form;
    this.#about = about;
    this.#button = one(form, "button", HTMLButtonElement);
    this.#outcome = one(form, "#outcome", HTMLElement);
    for (const [name, field] of Object.entries(about.fields)) {
      one(form, `[data-label="${name}"]`, HTMLElement).textContent = field;
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.#button.disabled) this.#send();
    });
  }

  /**
   * An empty field shows what it would keep.
   * @param {Row} row of the status table
   */
  showCurrent(row) {
    const { left, right, join } = this.#about.fields;
    one(this.#form, "input[name=left]", HTMLInputElement).placeholder = String(row[left] ?? "");
    one(this.#form, "input[name=right]", HTMLInputElement).placeholder = String(row[right] ?? "");
    one(this.#form, "option[value='']", HTMLOptionElement).textContent = `keep ${row[join]}`;
  }

  async #send() {
    const message = this.#message();
    if (Object.keys(message).length === 0) {
      this.#say("hint", "Fill in what should change; an empty field keeps its value.");
      return;
    }
    const number = ++this.#sent;
    const began = performance.now();
    this.#button.disabled = true;
    this.#say("busy", "Switching…");
    try {
      const answer = await post(message);
      if (answer.outcome !== undefined) this.#conclude(answer.outcome, began);
      else this.#waitFor(String(answer.id), number, began);
    } catch (error) {
      this.#say("refused", `Not sent: ${error instanceof Error ? error.message : error}`);
    } finally {
      this.#button.disabled = false;
    }
  }

  /** @returns {Record<string, string>} only what is filled in */
  #message() {
    const filled = new FormData(this.#form);
    const entries = Object.entries(this.#about.fields).map(([name, field]) => [field, String(filled.get(name)).trim()]);
    return Object.fromEntries(entries.filter(([, value]) => value !== ""));
  }

  /**
   * It takes longer than the server waits: the control table will tell.
   * @param {string} id
   * @param {number} number
   * @param {number} began
   */
  #waitFor(id, number, began) {
    this.#say("busy", `Taking longer: message ${id} is under way, and what becomes of it will show here.`);
    const source = new EventSource(`/api/tables/${this.#about.tables.control}/changes`);
    for (const kind of ["snapshot", "change", "swap"]) {
      source.addEventListener(kind, (event) => {
        const data = JSON.parse(event.data);
        const row = (data.rows ?? data.upserts).find((/** @type {Row} */ each) => each._row === id);
        if (number !== this.#sent) source.close();
        else if (row?.outcome) {
          source.close();
          this.#conclude(row.outcome, began);
        }
      });
    }
  }

  /**
   * @param {string} outcome as the control table has it
   * @param {number} began
   */
  #conclude(outcome, began) {
    const known = OUTCOMES.find(({ begins }) => outcome.startsWith(begins));
    const { kind, word } = known ?? { kind: "same", word: outcome };
    const detail = outcome.slice(known?.begins.length ?? outcome.length).replace(/^: /, "");
    if (kind === "done" || kind === "same") this.#form.reset();
    if (kind === "done") this.#say(kind, `${word} in ${seconds(performance.now() - began)}`);
    else if (kind === "same") this.#say(kind, `${word}: that is live already`);
    else if (kind === "passed") this.#say(kind, `${word} by a newer message`);
    else this.#say(kind, `${word}: ${detail}`);
  }

  /**
   * @param {"hint" | "busy" | string} kind
   * @param {string} text
   */
  #say(kind, text) {
    const place = this.#outcome;
    place.dataset.kind = kind;
    place.title = text;
    const words = document.createElement("span");
    words.textContent = text;
    if (kind === "hint") place.replaceChildren(words);
    else place.replaceChildren(drawn(`shape-${kind}`), words);
  }
}

/**
 * @param {Record<string, string>} message
 * @returns {Promise<Answer>}
 */
async function post(message) {
  let answer;
  try {
    answer = await fetch("/api/control", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
    });
  } catch {
    throw new Error("the server cannot be reached");
  }
  /** @type {Answer} */
  const content = await answer.json().catch(() => ({}));
  if (content.outcome === undefined && content.id === undefined) {
    throw new Error(content.error ?? `the server answered ${answer.status}`);
  }
  return content;
}

/** @param {string} id */
function drawn(id) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "use"));
  svg.firstElementChild?.setAttribute("href", `#${id}`);
  return svg;
}

/** @param {number} ms */
function seconds(ms) {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
