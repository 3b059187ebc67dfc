// @ts-check
// The dialog for a switch: what is there to choose, what it would change, and each step of what comes of it.

import { drawn, made, one } from "./dom.js";
import { identity } from "./rows.js";
import { TopicField } from "./topics.js";
import { duration } from "./words.js";

/** @import { About } from "./about.js" */
/** @import { Line } from "./drawer.js" */
/** @import { Vitals } from "./pulse.js" */
/** @typedef {{id?: string, outcome?: string | null, error?: string}} Answer */

const PREVIEW_MS = 150;
const POLL_MS = 500;
const ANSWER_MS = 12_000; // a broker that is silent is given up after ten seconds
const OUTCOME_MS = 45_000; // the server waits for an outcome for half a minute

export class SwitchDialog {
  #dialog = one(document, "#switch", HTMLDialogElement);
  #form = one(this.#dialog, "form", HTMLFormElement);
  #preview = one(this.#dialog, "#preview", HTMLElement);
  #steps = one(this.#dialog, "#steps", HTMLOListElement);
  #outcome = one(this.#dialog, "#outcome", HTMLElement);
  #send = one(this.#dialog, "button[value=send]", HTMLButtonElement);
  #undo = one(this.#dialog, "button[value=undo]", HTMLButtonElement);
  #about;
  #left;
  #right;
  /** @type {Vitals | null} */
  #vitals = null;
  /** @type {Line[]} the newest first */
  #log = [];
  /** @type {Set<string> | null} the lines from before the message was sent; null: nothing was sent */
  #before = null;
  #later = 0;
  #previews = 0;

  /** @param {About} about */
  constructor(about) {
    this.#about = about;
    for (const [name, field] of Object.entries(about.fields)) {
      one(this.#form, `[data-label="${name}"]`, HTMLElement).textContent = field;
    }
    const changed = () => this.#soon();
    this.#left = new TopicField(one(this.#form, "[data-topic=left]", HTMLElement), changed);
    this.#right = new TopicField(one(this.#form, "[data-topic=right]", HTMLElement), changed);
    this.#form.addEventListener("change", changed);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.#send.disabled) this.#act("/api/control", this.#message());
    });
    this.#undo.addEventListener("click", () => this.undo());
    one(this.#dialog, ".close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close());
  }

  /** With what is live now. */
  open() {
    if (this.#dialog.open) return;
    const { left, right, join } = this.#about.fields;
    this.#left.value = String(this.#vitals?.[left] ?? "");
    this.#right.value = String(this.#vitals?.[right] ?? "");
    const type = this.#form.querySelector(`input[name=join][value="${this.#vitals?.[join]}"]`);
    if (type instanceof HTMLInputElement) type.checked = true;
    this.#before = null;
    this.#steps.replaceChildren();
    this.#say("", "");
    this.#dialog.showModal();
    this.#offer();
    this.#soon();
  }

  /** @param {Vitals} vitals */
  vitals(vitals) {
    this.#vitals = vitals;
  }

  /** @param {Line[]} lines the newest first */
  log(lines) {
    this.#log = lines;
    this.#showSteps();
  }

  /** Go back to what was shown before; whoever has not opened the dialog sees what comes of it there. */
  undo() {
    this.open();
    this.#act("/api/undo");
  }

  async #offer() {
    try {
      const answer = await fetch("/api/topics", { signal: AbortSignal.timeout(ANSWER_MS) });
      if (!answer.ok) throw new Error((await answer.json()).error);
      const { topics } = await answer.json();
      this.#left.offer(topics);
      this.#right.offer(topics);
    } catch (error) {
      this.#say("hint", `The topics cannot be listed (${said(error)}): type their names.`);
    }
  }

  #soon() {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#showPreview(), PREVIEW_MS);
  }

  async #showPreview() {
    const number = ++this.#previews;
    const answer = await ask("/api/preview", ANSWER_MS, this.#message()).catch((error) => ({ error: said(error) }));
    if (number !== this.#previews) return; // there is a newer question
    const changes = answer.error
      ? []
      : Object.keys(answer.to).filter((field) => answer.from[field] !== answer.to[field]);
    this.#preview.dataset.kind = answer.error ? "refused" : "hint";
    this.#preview.replaceChildren(
      ...changes.map((field) =>
        made(
          "p",
          {},
          made("span", {}, `${field}: `),
          made("s", {}, answer.from[field]),
          " → ",
          made("b", {}, answer.to[field]),
        ),
      ),
      made("p", {}, answer.error ?? answer.text),
    );
    this.#send.disabled = Boolean(answer.error) || answer.work === "none";
  }

  /** @returns {Record<string, string>} */
  #message() {
    const { left, right, join } = this.#about.fields;
    const type = String(new FormData(this.#form).get("join") ?? "");
    return { [left]: this.#left.value, [right]: this.#right.value, [join]: type };
  }

  /**
   * @param {string} path
   * @param {Record<string, string>} [message]
   */
  async #act(path, message) {
    const began = performance.now();
    this.#before = new Set(this.#log.map(identity));
    this.#steps.replaceChildren();
    this.#send.disabled = this.#undo.disabled = true;
    this.#say("busy", "Under way…");
    try {
      const answer = await ask(path, OUTCOME_MS, message);
      if (answer.id === undefined) throw new Error(answer.error);
      this.#conclude(answer.outcome ?? (await outcomeOf(answer.id)), performance.now() - began);
    } catch (error) {
      this.#say("refused", `Nothing was sent: ${said(error)}`);
    } finally {
      this.#undo.disabled = false;
      this.#soon();
    }
  }

  /**
   * @param {string} outcome as the control table has it
   * @param {number} ms
   */
  #conclude(outcome, ms) {
    if (outcome === "applied") this.#say("done", `Applied in ${duration(ms)}.`);
    else if (outcome === "no change") this.#say("same", "No change: that is live already.");
    else if (outcome === "superseded") this.#say("passed", "Superseded by a newer message.");
    else this.#say("refused", `${outcome.replace(/^rejected: /, "Rejected: ")}`);
  }

  #showSteps() {
    const before = this.#before;
    if (!before) return;
    const lines = this.#log.filter((line) => !before.has(identity(line))).reverse();
    this.#steps.replaceChildren(...lines.map(({ level, msg }) => made("li", { "data-level": level }, msg)));
    this.#steps.scrollTop = this.#steps.scrollHeight;
  }

  /**
   * @param {string} kind
   * @param {string} text
   */
  #say(kind, text) {
    this.#outcome.dataset.kind = kind;
    const words = made("span", {}, text);
    if (kind === "" || kind === "hint") this.#outcome.replaceChildren(words);
    else this.#outcome.replaceChildren(drawn(`shape-${kind}`), words);
  }
}

/**
 * @param {string} path
 * @param {number} ms how long the answer may take
 * @param {Record<string, string>} [message]
 * @returns {Promise<any>}
 */
async function ask(path, ms, message) {
  const body = message === undefined ? undefined : JSON.stringify(message);
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body, signal: AbortSignal.timeout(ms) }).catch(() => {
    throw new Error("the server cannot be reached");
  });
  return answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
}

/**
 * It takes longer than the server waits: ask until it is known, also over a restart of the server.
 * @param {string} id
 * @returns {Promise<string>}
 */
async function outcomeOf(id) {
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    const answer = await fetch(`/api/control/${id}`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
    /** @type {Answer} */
    const content = answer?.ok ? await answer.json() : {};
    if (content.outcome) return content.outcome;
  }
}

/** @param {unknown} error */
function said(error) {
  return error instanceof Error ? error.message : String(error);
}
