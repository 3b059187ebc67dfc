/** The socket through which a viewer reads. */

import type { Client, ClientClass } from "./perspective";

const LOST = "the connection is lost";

export interface Link {
  readonly client: Client;
  readonly closed: Promise<void>;
}

/** Open until the connection breaks or `signal` is aborted. */
export function open(Client: ClientClass, signal: AbortSignal): Promise<Link> {
  const socket = new WebSocket(new URL("/perspective", location.origin.replace(/^http/, "ws")));
  socket.binaryType = "arraybuffer";
  const client = new Client(
    async (message) => {
      if (socket.readyState !== WebSocket.OPEN) throw new Error(LOST);
      socket.send(message.slice()); // a copy: the message lies in WebAssembly's memory, which may move
    },
    () => socket.close(),
  );
  signal.addEventListener("abort", () => socket.close());
  socket.onmessage = (event) => client.handle_response(event.data);
  return new Promise((resolve, reject) => {
    const closed = new Promise<void>((done) => {
      socket.onclose = async () => {
        reject(new Error(LOST));
        await client.handle_error(LOST); // what still waits for an answer fails now, and does not hang
        done();
      };
    });
    socket.onopen = () => resolve({ client, closed });
  });
}

// What a viewer was doing when the connection was lost fails, and nobody waits for it: that is no error of the page.
addEventListener("unhandledrejection", (event) => {
  if (String(event.reason).includes(LOST)) event.preventDefault();
});
