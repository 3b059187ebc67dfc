/** A real Turnout server in a Python process, whose tables the tests change by orders on its standard input. */

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const ROOT = new URL("../../../", import.meta.url).pathname;
const PYTHON = process.env.PYTHON ?? `${ROOT}.venv/bin/python`;

/** A row's id, and its age, which may have 64 bits. */
export type Fed = readonly [id: string, age: number | bigint | null];

export interface UserRow {
  userId: string;
  name: string;
  email: string | null;
  age: number | null;
}

export class FedServer {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #last: Promise<unknown>[] = [Promise.resolve()];
  port = 0;

  private constructor(options: readonly string[]) {
    this.#process = spawn(PYTHON, ["-m", "tests.clients.fed_server", ...options], {
      cwd: ROOT,
      stdio: ["pipe", "pipe", "inherit"],
    });
    if (!this.#process.stdout) throw new Error("no standard output");
    this.#answers = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Further `options`, such as `--port=8400`, are those of `tests/clients/fed_server.py`. */
  static async start(...options: string[]): Promise<FedServer> {
    const server = new FedServer(options);
    server.port = JSON.parse(await server.#line()).port;
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  change(rows: readonly Fed[], removes: readonly string[] = []): Promise<void> {
    return this.#order("change", { rows, removes }) as Promise<void>;
  }

  fill(count: number): Promise<void> {
    return this.#order("fill", { count }) as Promise<void>;
  }

  swap(generation: number, rows: readonly Fed[]): Promise<void> {
    return this.#order("swap", { generation, rows }) as Promise<void>;
  }

  /** Break all connections. */
  cut(): Promise<void> {
    return this.#order("cut") as Promise<void>;
  }

  stop(): Promise<void> {
    return this.#order("stop") as Promise<void>;
  }

  /** Start again after a stop: on the same port, with nothing in its tables. */
  again(): Promise<void> {
    return this.#order("start") as Promise<void>;
  }

  /** How many streams of a table's changes are open. */
  streams(table: string): Promise<number> {
    return this.#order("streams", { table }) as Promise<number>;
  }

  /** What becomes of control messages from now on. */
  outcome(outcome: string | null): Promise<void> {
    return this.#order("outcome", { outcome }) as Promise<void>;
  }

  conclude(offset: number, outcome: string): Promise<void> {
    return this.#order("conclude", { offset, outcome }) as Promise<void>;
  }

  published(): Promise<string[]> {
    return this.#order("published") as Promise<string[]>;
  }

  /** Hold the whole process still: connections stay open, and nothing comes through them. */
  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }

  /** As by `kill -9`. */
  async kill(): Promise<void> {
    const gone = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill("SIGKILL");
    await gone;
  }

  async #order(order: string, fields: object = {}): Promise<unknown> {
    // One at a time: answers come in order.
    const before = this.#last.at(-1);
    const answer = (async () => {
      await before;
      this.#process.stdin?.write(`${text({ order, ...fields })}\n`);
      return JSON.parse(await this.#line()).answer;
    })();
    this.#last[0] = answer.catch(() => undefined);
    return answer;
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the fed server has ended; what it said is above");
    return value;
  }
}

/** As JSON, with bigints in full. */
function text(value: unknown): string {
  const quoted = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `\u0001${each}` : each));
  return quoted.replace(/"\\u0001(-?\d+)"/g, "$1");
}
