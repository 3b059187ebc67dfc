// @ts-check
// Keeps the panels connected for as long as the page is open, whatever happens to the network and the server.

import { about } from "./about.js";
import { Pulse, socketUrl } from "./pulse.js";

/** @import { About } from "./about.js" */
/** @import { Session } from "./session.js" */
/** @import { Vitals } from "./pulse.js" */
/** @typedef {"connecting" | "connected" | "lost" | "waiting"} State waiting: the server has nothing to show yet */

const RETRY_MS = 1000;

export class Connection {
  #session;
  #about;
  #tellState;
  #tellVitals;
  /** @type {State} */
  #state = "connecting";
  /** @type {WebSocket | null} */
  #socket = null;
  #viewer = crypto.randomUUID(); // so that the server knows which views nobody needs any more
  #hadRows = false;
  #nextTry = 0;

  /**
   * @param {Session} session
   * @param {About} known what the server was like when the page was opened
   * @param {(state: State) => void} tellState
   * @param {(vitals: Vitals) => void} tellVitals
   */
  constructor(session, known, tellState, tellVitals) {
    this.#session = session;
    this.#about = JSON.stringify(known);
    this.#tellState = tellState;
    this.#tellVitals = tellVitals;
    new Pulse(
      (vitals) => this.#alive(vitals),
      () => this.#drop("lost"),
    );
  }

  /** @param {Vitals} vitals */
  #alive(vitals) {
    this.#tellVitals(vitals);
    const shows = vitals.generation > 0;
    if (this.#state === "connected") this.#hadRows ||= shows;
    else if (this.#hadRows && !shows)
      this.#become("waiting"); // what was known last is more than nothing
    else if (!this.#socket && Date.now() >= this.#nextTry) this.#open();
  }

  async #open() {
    const socket = new WebSocket(socketUrl(`/perspective?viewer=${this.#viewer}`));
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onclose = () => this.#drop("lost");
    try {
      // Before anything is asked: another version, or other columns, need another page. It comes back as it is.
      const now = await about();
      if (JSON.stringify(now) !== this.#about) location.reload();
      await opened(socket);
    } catch {
      if (this.#socket === socket) this.#drop("lost");
      return;
    }
    if (this.#socket !== socket) return;
    this.#session.attach(socket);
    this.#become("connected");
  }

  /** @param {State} state */
  #drop(state) {
    this.#nextTry = Date.now() + RETRY_MS;
    this.#session.detach();
    if (this.#socket) this.#socket.onclose = null;
    this.#socket?.close();
    this.#socket = null;
    this.#become(state);
  }

  /** @param {State} state */
  #become(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#tellState(state);
  }
}

/** @param {WebSocket} socket */
function opened(socket) {
  return new Promise((done, failed) => {
    if (socket.readyState === WebSocket.OPEN) done(socket);
    socket.addEventListener("open", done);
    socket.addEventListener("error", failed);
    socket.addEventListener("close", failed);
  });
}
