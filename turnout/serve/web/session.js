// @ts-check
// What the panels have asked the server for, kept so that it can be asked again.
//
// Perspective's viewer knows no lost connection: its views live on the server, and are gone with the socket. So the
// page keeps the requests that made them, and repeats them on the next socket under the same names. The viewer never
// notices: panels, filters, sorts, groups and scroll position stay, and what it waited for is answered later.

import { Kind, read, takenBack, updated, viewMade } from "./wire.js";

/** @import { Client, ClientClass } from "./perspective.js" */
/** @typedef {{bytes: Uint8Array<ArrayBuffer>, entity: string, kind: number}} Request */

/** Answered again and again, until they are taken back. */
/** @type {Set<number>} */
const STREAMS = new Set([
  Kind.HOSTED_TABLES,
  Kind.ON_UPDATE,
  Kind.ON_TABLE_DELETE,
  Kind.ON_VIEW_DELETE,
  Kind.ON_REMOVE,
]);
/** Answered once, and in force from then on. */
/** @type {Set<number>} */
const CHANGES = new Set([Kind.MAKE_VIEW, Kind.COLLAPSE, Kind.EXPAND, Kind.SET_DEPTH]);
/** @type {Set<number>} */
const TAKEN_BACK = new Set([Kind.NO_UPDATE, Kind.NO_TABLE_DELETE, Kind.NO_VIEW_DELETE, Kind.NO_REMOVE]);

export class Session {
  #onBroken;
  /** @type {Client | null} of the viewer, for as long as the page is open */
  #client = null;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<number, Request>} in force on the server, in the order they were asked for */
  #lasting = new Map();
  /** @type {Map<number, Request>} not answered yet */
  #waiting = new Map();
  /** @type {Map<number, number>} asked again, whose answer nobody waits for: number and kind */
  #repeated = new Map();

  /** @param {() => void} onBroken what was asked for cannot be had any more: the server's tables are others */
  constructor(onBroken) {
    this.#onBroken = onBroken;
  }

  /**
   * The one client of this session.
   * @param {ClientClass} Client
   * @returns {Client}
   */
  begin(Client) {
    this.#client = new Client(
      async (message) => this.#ask(message.slice()), // a copy: it lies in WebAssembly's memory, which may move
      () => {},
    );
    return this.#client;
  }

  /**
   * Go on through this socket, which is open.
   * @param {WebSocket} socket
   */
  attach(socket) {
    this.#socket = socket;
    socket.onmessage = (event) => this.#answer(event.data);
    const lasting = [...this.#lasting];
    const waiting = [...this.#waiting].filter(([id]) => !this.#lasting.has(id));
    this.#repeated = new Map(
      lasting
        .filter(([id, { kind }]) => CHANGES.has(kind) && !this.#waiting.has(id))
        .map(([id, { kind }]) => [id, kind]),
    );
    for (const [, { bytes }] of [...lasting, ...waiting]) socket.send(bytes);
    // All views are new to the server: whoever follows one has to look at it again.
    for (const [id, { kind, entity }] of lasting) if (kind === Kind.ON_UPDATE) this.#tell(updated(id, entity));
  }

  /** The socket is of no use any more. */
  detach() {
    if (this.#socket) this.#socket.onmessage = null;
    this.#socket = null;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  #ask(bytes) {
    const message = read(bytes);
    const { id, kind } = message;
    const entity = kind === Kind.MAKE_VIEW ? viewMade(message) : message.entity;
    if (STREAMS.has(kind) || CHANGES.has(kind)) this.#lasting.set(id, { bytes, entity, kind });
    if (!STREAMS.has(kind)) this.#waiting.set(id, { bytes, entity, kind });
    this.#socket?.send(bytes);
  }

  /** @param {ArrayBuffer} data */
  #answer(data) {
    const bytes = new Uint8Array(data);
    const { id, kind } = read(bytes);
    const repeated = this.#repeated.get(id);
    if (repeated !== undefined) {
      this.#repeated.delete(id);
      if (kind !== repeated) this.#onBroken();
      return;
    }
    this.#forget(id);
    this.#tell(bytes);
  }

  /**
   * A request is answered: it waits no longer, and what it ends is in force no longer. Not before the answer: a view
   * that is not deleted yet has to be made again before it can be.
   * @param {number} id
   */
  #forget(id) {
    const request = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (request?.kind === Kind.DELETE_VIEW) {
      for (const [each, { entity }] of this.#lasting) if (entity === request.entity) this.#lasting.delete(each);
    } else if (request && TAKEN_BACK.has(request.kind)) {
      this.#lasting.delete(takenBack(read(request.bytes)));
    }
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  #tell(bytes) {
    this.#client?.handle_response(bytes.buffer).catch(console.debug);
  }
}
