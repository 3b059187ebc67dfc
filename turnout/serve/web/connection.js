// @ts-check
// The socket that the panels read through. When it closes, a new one is opened, however long that takes.

/** @import { Client, ClientClass } from "./perspective.js" */
/** @import { Panels } from "./panels.js" */
/** @typedef {"connecting" | "connected" | "lost"} State */

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8000;
const LOST = "the connection is lost";

/**
 * Keep the panels connected; never returns.
 * @param {ClientClass} Client
 * @param {Panels} panels
 * @param {(state: State) => void} tell
 */
export async function stayConnected(Client, panels, tell) {
  addEventListener("unhandledrejection", keepQuiet);
  let pause = FIRST_PAUSE_MS;
  for (;;) {
    try {
      const link = await open(Client);
      await panels.show(link.client);
      tell("connected");
      pause = FIRST_PAUSE_MS;
      await link.closed;
      tell("lost");
      await panels.keep();
    } catch (error) {
      tell("lost");
      console.debug("not connected:", error);
    }
    await pauseOrOnline(pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
}

/**
 * What the viewer was doing when the connection was lost fails, and nobody waits for it: that is no error of the page.
 * @param {PromiseRejectionEvent} event
 */
function keepQuiet(event) {
  if (String(event.reason?.message ?? event.reason).includes(LOST)) event.preventDefault();
}

/**
 * @param {ClientClass} Client
 * @returns {Promise<{client: Client, closed: Promise<void>}>}
 */
function open(Client) {
  const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/perspective`);
  socket.binaryType = "arraybuffer";
  const client = new Client(
    async (message) => {
      if (socket.readyState !== WebSocket.OPEN) throw new Error(LOST);
      socket.send(message.slice().buffer); // a copy: the message lies in WebAssembly's memory, which may move
    },
    () => socket.close(),
  );
  socket.onmessage = (event) => client.handle_response(event.data);
  return new Promise((resolve, reject) => {
    /** @type {Promise<void>} */
    const closed = new Promise((done) => {
      socket.onclose = async (event) => {
        reject(new Error(`the socket closed with code ${event.code} ${event.reason}`));
        // First of all: whatever still waits for an answer fails now, and does not hang.
        await client.handle_error(LOST);
        done();
      };
    });
    socket.onopen = () => resolve({ client, closed });
  });
}

/**
 * Wait, but no longer than until the network is back.
 * @param {number} ms
 */
function pauseOrOnline(ms) {
  return new Promise((done) => {
    setTimeout(done, ms);
    addEventListener("online", done, { once: true });
  });
}
