// @ts-check
// Keeps the panels connected for as long as the page is open, whatever happens to the network and the server.

import { leaveIfLoggedOut } from "./login.js";
import { Pulse, socketUrl } from "./pulse.js";

/** @import { Session } from "./session.js" */
/** @import { Vitals } from "./pulse.js" */
/** @typedef {"connecting" | "connected" | "lost" | "waiting"} State waiting: the server has nothing to show yet */

const RETRY_MS = 1000;
const OPEN_MS = 10_000; // the server itself may let a viewer wait for five seconds

export class Connection {
  #session;
  #page;
  #tellState;
  #tellVitals;
  /** @type {State} */
  #state = "connecting";
  /** @type {WebSocket | null} */
  #socket = null;
  #viewer = crypto.randomUUID(); // so that the server knows which views nobody needs any more
  #hadRows = false;
  #nextTry = 0;
  #patience = 0;

  /**
   * @param {Session} session
   * @param {string} page its fingerprint
   * @param {(state: State) => void} tellState
   * @param {(vitals: Vitals) => void} tellVitals
   */
  constructor(session, page, tellState, tellVitals) {
    this.#session = session;
    this.#page = page;
    this.#tellState = tellState;
    this.#tellVitals = tellVitals;
    new Pulse(
      (vitals) => this.#alive(vitals),
      () => {
        this.#drop("lost");
        leaveIfLoggedOut();
      },
    );
  }

  /** @param {Vitals} vitals */
  #alive(vitals) {
    if (vitals.page !== this.#page) location.reload(); // another version, or other columns; it comes back as it is
    this.#tellVitals(vitals);
    const shows = vitals.generation > 0;
    if (this.#state === "connected") this.#hadRows ||= shows;
    else if (this.#hadRows && !shows)
      this.#become("waiting"); // what was known last is more than nothing
    else if (!this.#socket && Date.now() >= this.#nextTry) this.#open();
    else if (this.#socket && Date.now() > this.#patience) this.#drop("lost");
  }

  #open() {
    const socket = new WebSocket(socketUrl(`/perspective?viewer=${this.#viewer}`));
    this.#socket = socket;
    this.#patience = Date.now() + OPEN_MS;
    socket.binaryType = "arraybuffer";
    socket.onclose = () => this.#drop("lost");
    socket.onopen = () => {
      this.#session.attach(socket);
      this.#become("connected");
    };
  }

  /** @param {State} state */
  #drop(state) {
    this.#nextTry = Date.now() + RETRY_MS;
    this.#session.detach();
    if (this.#socket) this.#socket.onclose = this.#socket.onopen = null;
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
