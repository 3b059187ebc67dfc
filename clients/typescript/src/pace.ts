/** How often somebody is told about something that changes often. */

/**
 * - `"frame"`: when the page is drawn next, so about 60 times a second; 4 times a second while it is hidden.
 * - `"batch"`: once for all changes that came together.
 * - a number: with at least so many milliseconds in between.
 */
export type Pace = "frame" | "batch" | number;

const HIDDEN_MS = 250;
const FRAME_MS = 16; // where nothing is drawn

export class Paced {
  readonly #pace: Pace;
  readonly #work: () => void;
  #cancel: (() => void) | undefined;
  #last = Number.NEGATIVE_INFINITY;

  constructor(pace: Pace, work: () => void) {
    this.#pace = pace;
    this.#work = work;
  }

  /** Do the work soon, once, however often this is asked for meanwhile. */
  ask(): void {
    this.#cancel ??= this.#schedule(() => {
      this.#cancel = undefined;
      this.#last = performance.now();
      this.#work();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(work: () => void): () => void {
    const pace = this.#pace;
    if (pace === "frame" && typeof requestAnimationFrame === "function") return onFrame(work);
    if (pace === "batch") return onMicrotask(work);
    const least = pace === "frame" ? FRAME_MS : pace;
    const timer = setTimeout(work, Math.max(0, this.#last + least - performance.now()));
    return () => clearTimeout(timer);
  }
}

function onFrame(work: () => void): () => void {
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const run = () => {
    cancel();
    work();
  };
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, HIDDEN_MS); // a page that is hidden has no frames
  return cancel;
}

function onMicrotask(work: () => void): () => void {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) work();
  });
  return () => {
    cancelled = true;
  };
}
