// @ts-check
// The small notice over the tables: what is going on, while it is, and what came of it, for a moment.

import { made } from "./dom.js";
import { STEPS } from "./pulse.js";

/** @import { About } from "./about.js" */
/** @import { State } from "./connection.js" */
/** @import { Vitals } from "./pulse.js" */
/** @typedef {{kind: "busy" | "done" | "refused", text: string, action?: {label: string, run: () => void}}} Notice */

const MOMENT_MS = 8000;
const FAILURE = /^(switch failed|control message \S+ rejected)/;

export class Notices {
  #place;
  #about;
  #undo;
  #connection = "";
  /** @type {Notice | null} */
  #switching = null;
  #hide = 0;
  #drawn = "";
  /** @type {Vitals | null} */
  #before = null;

  /**
   * @param {HTMLElement} place
   * @param {About} about
   * @param {() => void} undo
   */
  constructor(place, about, undo) {
    this.#place = place;
    this.#about = about;
    this.#undo = undo;
  }

  /** @param {State} state */
  connection(state) {
    const kept = `The tables show what was known at ${new Date().toLocaleTimeString()}.`;
    const texts = {
      connecting: "",
      connected: "",
      lost: `Connection lost, reconnecting… ${kept}`,
      waiting: "Turnout has started anew and is catching up. The tables show what was known before.",
    };
    this.#connection = texts[state];
    this.#draw();
  }

  /**
   * Tell what becomes of a switch, whoever asked for it.
   * @param {Vitals} vitals
   */
  vitals(vitals) {
    const before = this.#before;
    this.#before = vitals;
    if (!before || before.generation === 0) return;
    const { left, right, join } = this.#about.fields;
    const shown = `${vitals[left]} + ${vitals[right]} (${vitals[join]})`;
    if (STEPS.includes(vitals.state)) {
      this.#say({ kind: "busy", text: `${capital(vitals.message)}… Until then the tables go on as they are.` });
    } else if (vitals.generation !== before.generation) {
      const action = this.#about.user.maySwitch ? { label: "Undo", run: this.#undo } : undefined;
      this.#say({ kind: "done", text: `Now showing ${shown}.`, action }, MOMENT_MS);
    } else if (FAILURE.test(vitals.message) && vitals.message !== before.message) {
      this.#say({ kind: "refused", text: `${capital(vitals.message)}.`, action: this.#dismissal() });
    } else if (this.#switching?.kind === "busy") this.#say(null);
  }

  /**
   * Something that is done, for a moment.
   * @param {string} text
   */
  tell(text) {
    this.#say({ kind: "done", text }, MOMENT_MS);
  }

  #dismissal() {
    return { label: "Dismiss", run: () => this.#say(null) };
  }

  /**
   * @param {Notice | null} notice
   * @param {number} [ms] how long, if not until there is another
   */
  #say(notice, ms) {
    clearTimeout(this.#hide);
    this.#switching = notice;
    if (ms) this.#hide = setTimeout(() => this.#say(null), ms);
    this.#draw();
  }

  #draw() {
    /** @type {Notice | null} */
    const notice = this.#connection ? { kind: "busy", text: this.#connection } : this.#switching;
    const drawn = JSON.stringify(notice);
    if (drawn === this.#drawn) return; // or a reader would hear the same again
    this.#drawn = drawn;
    this.#place.hidden = notice === null;
    if (!notice) return;
    this.#place.dataset.kind = notice.kind;
    this.#place.replaceChildren(made("span", {}, notice.text));
    if (notice.action) {
      const button = made("button", { type: "button" }, notice.action.label);
      button.addEventListener("click", notice.action.run);
      this.#place.append(button);
    }
  }
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
