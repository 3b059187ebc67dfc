/** The text of an answer that has no end, as it comes. */

import { TurnoutError } from "./errors.ts";
import type { Server } from "./server.ts";
import { Watch } from "./watch.ts";

const LONGEST_TURN_MS = 8; // then others have theirs, so that a large table does not make a page stumble

/**
 * Calls `take` with each piece of text. Ends only by an error: the server ended, the connection broke, nothing came for
 * `quietMs`, or `signal` was aborted.
 */
export async function readText(
  server: Server,
  path: string,
  take: (text: string) => void,
  quietMs: number,
  signal: AbortSignal,
): Promise<never> {
  const dead = new AbortController();
  const watch = new Watch(quietMs, (why) => dead.abort(new TurnoutError(why)));
  const either = AbortSignal.any([signal, dead.signal]);
  try {
    const answer = await server.ask(path, { signal: either, cache: "no-store" });
    if (!answer.body) throw new TurnoutError(`${server.url}${path} answers without a stream`);
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let busy = 0;
    for (;;) {
      const { done, value } = await reader.read();
      either.throwIfAborted();
      if (done) throw new TurnoutError("the server has ended the stream");
      watch.heard();
      const began = performance.now();
      take(decoder.decode(value, { stream: true }));
      busy += performance.now() - began;
      if (busy > LONGEST_TURN_MS) {
        await breathe();
        busy = 0;
      }
    }
  } catch (error) {
    if (either.aborted) throw either.reason;
    throw error;
  } finally {
    watch.stop();
    dead.abort(); // whatever of the connection is still there
  }
}

/** Let everything else that waits have its turn. Not by a timer: those of a hidden page may wait for a minute. */
function breathe(): Promise<void> {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}
