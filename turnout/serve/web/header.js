// @ts-check
// The header: what is shown, how it goes, and whether this page is connected. No colour says anything alone.

import { one, shape } from "./dom.js";
import { STEPS } from "./pulse.js";
import { age, count, duration, moment, rate } from "./words.js";

/** @import { About } from "./about.js" */
/** @import { State } from "./connection.js" */
/** @import { Vitals } from "./pulse.js" */

/** @type {Record<string, string>} */
const SHAPES = { live: "shape-live", degraded: "shape-degraded", stopped: "shape-stopped" };

const CONNECTIONS = {
  connecting: { mark: "shape-busy", text: "connecting…" },
  connected: { mark: "shape-live", text: "connected" },
  lost: { mark: "shape-busy", text: "reconnecting…" },
  waiting: { mark: "shape-busy", text: "server starting…" },
};

export class Header {
  #root;
  #about;

  /**
   * @param {HTMLElement} root
   * @param {About} about
   */
  constructor(root, about) {
    this.#root = root;
    this.#about = about;
  }

  /** @param {State} state */
  connection(state) {
    const place = one(this.#root, "#connection", HTMLElement);
    const { mark, text } = CONNECTIONS[state];
    document.body.dataset.connection = state;
    one(place, "span", HTMLElement).textContent = text;
    shape(place, mark);
  }

  /** @param {Vitals} vitals */
  show(vitals) {
    const { left, right, join } = this.#about.fields;
    this.#showState(vitals.state);
    this.#put("left", vitals[left]);
    this.#put("right", vitals[right]);
    this.#put("join", vitals[join]);
    shape(one(this.#root, ".type", HTMLElement), `join-${vitals[join]}`);
    this.#put("generation", vitals.generation);
    this.#put("message", vitals.message);
    this.#put("applied", vitals.lastApplied === null ? null : moment(vitals.lastApplied));
    this.#put("rate", rate(vitals.rowsPerSecond));
    this.#put("newest", vitals.newestRowAt === null ? null : age(between(vitals.newestRowAt, vitals.now)));
    this.#put("latency", vitals.latencyMs === null ? null : duration(vitals.latencyMs));
    this.#put("lag", lag(vitals.lag));
    this.#put("rejected", vitals.rejected >= 10_000 ? "10,000+" : count(vitals.rejected));
    one(this.#root, "#rejected", HTMLElement).dataset.some = String(vitals.rejected > 0);
    document.title = `${vitals.state === "live" ? "" : `${vitals.state} · `}${vitals[left]} + ${vitals[right]} · Turnout`;
  }

  /** @param {string} state */
  #showState(state) {
    const place = one(this.#root, ".state", HTMLElement);
    this.#put("state", state);
    place.dataset.state = state in SHAPES ? state : "busy";
    shape(place, SHAPES[state] ?? "shape-busy");
    const progress = one(this.#root, "progress", HTMLProgressElement);
    const step = STEPS.indexOf(state);
    progress.hidden = step < 0;
    progress.max = STEPS.length;
    progress.value = step + 0.5;
  }

  /**
   * @param {string} name
   * @param {string | number | null} value
   */
  #put(name, value) {
    const place = one(this.#root, `[data-value="${name}"]`, HTMLElement);
    const text = String(value ?? "–");
    if (place.textContent === text) return; // what is selected stays so
    place.textContent = text;
    if (place.dataset.long !== undefined) place.title = text;
  }
}

/**
 * @param {string} then
 * @param {string} now
 */
function between(then, now) {
  return Math.max(0, Date.parse(now) - Date.parse(then));
}

/** @param {Record<string, number | null>} lags */
function lag(lags) {
  const topics = Object.entries(lags);
  if (topics.length === 0) return null;
  if (topics.every(([, messages]) => messages === 0)) return "none";
  return topics.map(([topic, messages]) => `${topic} ${messages === null ? "unknown" : count(messages)}`).join(", ");
}
