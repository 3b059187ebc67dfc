// @ts-check
// The server's pulse: how it goes, each second. Its silence says that the connection is dead, even if nobody said so:
// a laptop that wakes up does not know.

/** @typedef {Record<string, string | number | null>} Row */

/**
 * @typedef {object} Signs what the server says about itself, beside the status row
 * @property {string} state
 * @property {number} generation
 * @property {string} message
 * @property {string | null} lastApplied
 * @property {number} uptimeSeconds
 * @property {Record<string, number | null>} lag by topic
 * @property {number} rowsPerSecond
 * @property {string | null} newestRowAt
 * @property {number | null} latencyMs
 * @property {number} rejected
 * @property {string} now
 * @property {string} page the fingerprint of the page that fits the server
 */

/** @typedef {Row & Signs} Vitals */

/** The states that a switch goes through, in this order. */
export const STEPS = ["building", "catching up", "switching"];

const SILENCE_MS = 5000;
const LOOK_MS = 1000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4000;

export class Pulse {
  #tell;
  #lost;
  /** @type {WebSocket | null} */
  #socket = null;
  #lastBeat = 0;
  #pause = FIRST_PAUSE_MS;
  #retry = 0;

  /**
   * @param {(vitals: Vitals) => void} tell at each beat
   * @param {() => void} lost when there is none any more, at once or after a silence; it goes on trying
   */
  constructor(tell, lost) {
    this.#tell = tell;
    this.#lost = lost;
    setInterval(() => this.#look(), LOOK_MS);
    addEventListener("online", () => this.#open());
    document.addEventListener("visibilitychange", () => this.#look());
    this.#open();
  }

  #open() {
    this.#close();
    const socket = new WebSocket(socketUrl("/api/pulse"));
    this.#socket = socket;
    this.#lastBeat = Date.now();
    socket.onmessage = (event) => {
      this.#lastBeat = Date.now();
      this.#pause = FIRST_PAUSE_MS;
      this.#tell(JSON.parse(event.data));
    };
    socket.onclose = () => this.#again();
  }

  #close() {
    clearTimeout(this.#retry);
    if (this.#socket) this.#socket.onclose = this.#socket.onmessage = null;
    this.#socket?.close();
    this.#socket = null;
  }

  #again() {
    this.#close();
    this.#lost();
    this.#retry = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
  }

  /** Timers stand still while a laptop sleeps, and are slow in a tab that nobody sees; clocks are not. */
  #look() {
    if (this.#socket && Date.now() - this.#lastBeat > SILENCE_MS) {
      this.#pause = FIRST_PAUSE_MS;
      this.#again();
    }
  }
}

/** @param {string} path */
export function socketUrl(path) {
  return location.origin.replace(/^http/, "ws") + path;
}
