/** Notices that a connection is dead though nobody has said so: a lost network or a laptop's sleep closes nothing. */

const LOOK_MS = 2_000;
const SLEPT_MS = 10_000; // so late does no timer come that has not slept, or been held back in a hidden page

export class Watch {
  readonly #quietMs: number;
  readonly #dead: (why: string) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #heard = Date.now(); // not performance.now(), which may stand still while the machine sleeps
  #looked = Date.now();

  constructor(quietMs: number, dead: (why: string) => void) {
    this.#quietMs = quietMs;
    this.#dead = dead;
    this.#timer = setInterval(() => this.look(), Math.min(LOOK_MS, quietMs / 4));
  }

  /** Something came. */
  heard(): void {
    this.#heard = Date.now();
  }

  look(): void {
    const now = Date.now();
    const slept = now - this.#looked > SLEPT_MS;
    this.#looked = now;
    const silent = now - this.#heard;
    if (silent > this.#quietMs || (slept && silent > this.#quietMs / 2)) {
      this.stop();
      this.#dead(`nothing came for ${Math.round(silent / 1000)} s`);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
