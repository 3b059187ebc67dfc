/** A live table, by its name. */

import { type Connection, type Feed, type Listener, longColumns } from "./feed.ts";
import type { Change, Live } from "./held_rows.ts";
import { ExactRows, type Integers } from "./integers.ts";
import { LongObject } from "./long_object.ts";
import { type Pace, Paced } from "./pace.ts";
import { type Query, queryString } from "./query.ts";
import type { Server } from "./server.ts";

export type Value = string | number | bigint | boolean | null;

export interface Info {
  readonly generation: number;
  /** Are these the rows of another generation than those of the last call? */
  readonly swapped: boolean;
}

export interface ChangesOptions {
  /** Called with the state of the connection, now and whenever it changes. */
  readonly onState?: (connection: Connection) => void;
  /** Ends the subscription, too. */
  readonly signal?: AbortSignal;
}

export interface SubscribeOptions extends ChangesOptions {
  /** How often at most; `"frame"` unless told. */
  readonly pace?: Pace;
}

/** Rows of one moment. */
export interface Snapshot<Row> {
  readonly generation: number;
  readonly rows: readonly Row[];
}

/** Ends a subscription. */
export type Stop = () => void;

/** Where the streams are: one for each table, however many subscribe. */
export interface Feeds {
  join<Row>(name: string, listener: Listener<Row>): Feed<Row>;
  leave<Row>(name: string, listener: Listener<Row>): void;
}

export class Table<Row extends object = Record<string, Value>> {
  readonly name: string;
  readonly #server: Server;
  readonly #feeds: Feeds;
  readonly #integers: Integers;

  constructor(name: string, server: Server, feeds: Feeds, integers: Integers) {
    this.name = name;
    this.#server = server;
    this.#feeds = feeds;
    this.#integers = integers;
  }

  /**
   * Calls back with all rows, now and whenever some have changed, for as long as it takes: through switches, lost
   * connections and restarts of the server. The array is new each time, rows that have not changed are the same objects.
   */
  subscribe(callback: (rows: readonly Live<Row>[], info: Info) => void, options: SubscribeOptions = {}): Stop {
    let generation: number | undefined;
    const paced = new Paced(options.pace ?? "frame", () => {
      const { all, generation: shown } = feed.held;
      const swapped = generation !== undefined && generation !== shown;
      generation = shown;
      callback(all, { generation, swapped });
    });
    const { feed, stop } = this.#listen(
      () => paced.ask(),
      () => paced.stop(),
      options,
    );
    if (feed.filled) paced.ask();
    return stop;
  }

  /**
   * Calls back with each change: first all rows, then what changes in them; all of them again after a switch (`swap`)
   * and after a lost connection (`snapshot`).
   */
  changes(callback: (change: Change<Row>) => void, options: ChangesOptions = {}): Stop {
    let begun = false;
    let stopped = false;
    const begin = () => {
      if (begun || stopped || !feed.filled) return;
      begun = true;
      callback({ kind: "snapshot", generation: feed.held.generation, rows: feed.held.all });
    };
    const { feed, stop } = this.#listen(
      (change) => {
        if (begun) return callback(change);
        begin();
      },
      () => {
        stopped = true;
      },
      options,
    );
    queueMicrotask(begin); // what others hold already
    return stop;
  }

  /** All rows as they are, then as they have become: whoever is slow misses what was in between, not what is now. */
  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Live<Row>[], void, void> {
    let newest: readonly Live<Row>[] | undefined;
    let wake = () => {};
    const stop = this.subscribe(
      (rows) => {
        newest = rows;
        wake();
      },
      { pace: "batch" },
    );
    try {
      for (;;) {
        if (newest) {
          const rows = newest;
          newest = undefined;
          yield rows;
        } else {
          await new Promise<void>((done) => {
            wake = done;
          });
        }
      }
    } finally {
      stop();
    }
  }

  /** The rows of this moment: all of them, or those that the query asks for. */
  async rows<Column extends keyof Row & string = keyof Row & string>(
    query: Query<Row, Column> = {},
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Snapshot<Pick<Row, Column>>> {
    const path = `/api/tables/${encodeURIComponent(this.name)}${queryString(query)}`;
    const init = signal ? { signal } : {};
    if (this.#integers === "number") return (await this.#server.json(path, init)) as Snapshot<Row>;
    const exact = new ExactRows(await longColumns(this.#server, this.name, signal));
    const object = new LongObject((text) => exact.parse(text));
    object.push(await (await this.#server.ask(path, init)).text());
    return object.end() as unknown as Snapshot<Row>;
  }

  #listen(changed: (change: Change<Row>) => void, ended: () => void, { onState, signal }: ChangesOptions) {
    const listener: Listener<Row> = { changed, ...(onState && { connection: onState }) };
    const feed = this.#feeds.join(this.name, listener);
    let stopped = false;
    const stop = () => {
      if (stopped) return;
      stopped = true;
      signal?.removeEventListener("abort", stop);
      this.#feeds.leave(this.name, listener);
      ended();
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop);
    // As everything else: after the call that subscribes has returned.
    queueMicrotask(() => {
      if (!stopped) onState?.(feed.connection);
    });
    return { feed, stop };
  }
}
