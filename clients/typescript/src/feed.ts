/** One table's stream, shared by all who subscribe to the table, and opened again whenever it breaks. */

import { Refused, TurnoutError } from "./errors.ts";
import { type Change, HeldRows } from "./held_rows.ts";
import { ExactRows, type Integers } from "./integers.ts";
import { LongObject, type ParseList } from "./long_object.ts";
import { onReturn, pause, pauseMs } from "./retrying.ts";
import type { Server } from "./server.ts";
import { EventLines } from "./sse.ts";
import { readText } from "./text_stream.ts";

/** Whether what is shown is what there is now. */
export interface Connection {
  readonly state: "connecting" | "connected" | "lost";
  /** Why it was lost. */
  readonly reason?: string;
}

export interface FeedOptions {
  readonly integers: Integers;
  readonly quietMs: number;
}

export interface Listener<Row> {
  changed?(change: Change<Row>): void;
  connection?(connection: Connection): void;
}

const KINDS: readonly string[] = ["snapshot", "change", "swap"];

export class Feed<Row> {
  readonly held = new HeldRows<Row>();
  readonly #server: Server;
  readonly #name: string;
  readonly #options: FeedOptions;
  readonly #listeners = new Set<Listener<Row>>();
  readonly #ended = new AbortController();
  #attempt = new AbortController();
  #failures = 0;
  #filled = false;
  #connection: Connection = { state: "connecting" };

  /** Begins to read at once. */
  constructor(server: Server, name: string, options: FeedOptions) {
    this.#server = server;
    this.#name = name;
    this.#options = options;
    void this.#run();
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Does it hold what a server has said? */
  get filled(): boolean {
    return this.#filled;
  }

  get idle(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: Listener<Row>): void {
    this.#listeners.add(listener);
  }

  remove(listener: Listener<Row>): void {
    this.#listeners.delete(listener);
  }

  end(): void {
    this.#ended.abort();
    this.#attempt.abort();
  }

  async #run(): Promise<void> {
    const stopListening = onReturn(() => this.#tryNow());
    while (!this.#ended.signal.aborted) {
      this.#attempt = new AbortController();
      try {
        await this.#read();
      } catch (error) {
        if (!this.#attempt.signal.aborted) this.#lost(error);
      }
      // Ends early when there is reason to hope.
      if (!this.#attempt.signal.aborted) await pause(pauseMs(this.#failures++), this.#attempt.signal);
    }
    stopListening();
  }

  /** Not connected: no more waiting. Connected: what is dead will be noticed by its silence. */
  #tryNow(): void {
    if (this.#connection.state === "connected") return;
    this.#failures = 0;
    this.#attempt.abort(new TurnoutError("trying again at once"));
  }

  async #read(): Promise<never> {
    const path = `/api/tables/${encodeURIComponent(this.#name)}`;
    const parse = await this.#parser();
    let object: LongObject | undefined;
    let kind = "";
    const lines = new EventLines({
      data: (of, text) => {
        kind = of;
        object ??= new LongObject(parse);
        object.push(text);
      },
      end: () => {
        const content = object?.end();
        object = undefined;
        if (content && KINDS.includes(kind)) this.#take({ kind, ...content } as unknown as Change<Row>);
      },
    });
    const take = (text: string) => lines.push(text);
    return readText(this.#server, `${path}/changes`, take, this.#options.quietMs, this.#attempt.signal);
  }

  async #parser(): Promise<ParseList> {
    if (this.#options.integers === "number") return JSON.parse;
    const exact = new ExactRows(await longColumns(this.#server, this.#name, this.#attempt.signal));
    return (text) => exact.parse(text);
  }

  #take(event: Change<Row>): void {
    const change = this.held.take(event);
    this.#filled = true;
    this.#failures = 0;
    this.#tell({ state: "connected" });
    if (change) for (const listener of this.#listeners) safely(() => listener.changed?.(change));
  }

  #lost(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const refused = error instanceof Refused && error.status < 500;
    // Most likely a wrong name, which somebody should see even if they do not ask for the state of the connection.
    if (refused && this.#connection.reason !== reason) console.warn(`Turnout, table "${this.#name}": ${reason}`);
    this.#tell({ state: "lost", reason });
  }

  #tell(connection: Connection): void {
    const { state, reason } = this.#connection;
    if (connection.state === state && connection.reason === reason) return;
    this.#connection = connection;
    for (const listener of this.#listeners) safely(() => listener.connection?.(connection));
  }
}

/** The columns of a table whose values are 64-bit integers. */
export async function longColumns(server: Server, name: string, signal?: AbortSignal): Promise<string[]> {
  const { tables } = (await server.json("/api/tables", signal ? { signal } : {})) as {
    tables: { name: string; columns: Record<string, string> }[];
  };
  const columns = tables.find((table) => table.name === name)?.columns ?? {};
  return Object.keys(columns).filter((column) => columns[column] === "long");
}

/** What a subscriber does wrong is theirs: it is reported as any error is, and the others go on. */
function safely(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
