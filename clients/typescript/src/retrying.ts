/** When to try again. */

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

/** How long to pause after so many failures: twice as long each time, and not all clients at the same moment. */
export function pauseMs(failures: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return longest * (0.5 + Math.random() / 2);
}

/** A pause that ends early when `signal` is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal?.aborted) return done();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** Calls `back` when the browser says that the network is back, or that somebody looks at the page again. */
export function onReturn(back: () => void): () => void {
  const seen = () => {
    if (document.visibilityState === "visible") back();
  };
  globalThis.addEventListener?.("online", back);
  globalThis.document?.addEventListener("visibilitychange", seen);
  return () => {
    globalThis.removeEventListener?.("online", back);
    globalThis.document?.removeEventListener("visibilitychange", seen);
  };
}
