/** A Turnout, by its address. */

import { type Outcome, publish, type SwitchTo } from "./control.ts";
import { TurnoutError } from "./errors.ts";
import { Feed, type Listener } from "./feed.ts";
import type { Integers } from "./integers.ts";
import { type Fetch, Server } from "./server.ts";
import { type Feeds, Table, type Value } from "./table.ts";

export interface TurnoutOptions {
  /**
   * What integers of 64 bits become. `"number"` (unless told) rounds those beyond 2^53, as all of JavaScript does;
   * `"bigint"` makes every value of a column of type `long` a bigint.
   */
  readonly integers?: Integers;
  /** How long a stream may be silent until it is taken for dead; the server speaks every 15 s. 40 s unless told. */
  readonly quietMs?: number;
  /** What to log in with, where the server asks for it. Whoever opens the page can read it: one of their own, then. */
  readonly token?: string;
  /** Instead of the global one: for other credentials, for example. */
  readonly fetch?: Fetch;
}

export type ColumnType = "string" | "long" | "double" | "boolean";

export interface TableInfo {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly rows: number;
}

/** The row of the status table. The topics' fields are called by the tables of the server's configuration. */
export interface StatusRow {
  readonly joinType: string;
  /** ISO 8601, in UTC. */
  readonly lastApplied: string | null;
  readonly state: string;
  readonly generation: number;
  readonly message: string;
  readonly [topic: `${string}Topic`]: string;
}

export type Status = StatusRow & {
  readonly uptimeSeconds: number;
  /** Topic -> how many of its messages are not in the tables yet; null: unknown. */
  readonly lag: Readonly<Record<string, number | null>>;
};

const QUIET_MS = 40_000;

export class Turnout {
  readonly #server: Server;
  readonly #integers: Integers;
  readonly #feeds: SharedFeeds;

  /** Without an address: the server that the page comes from. */
  constructor(url: string | undefined = globalThis.location?.origin, options: TurnoutOptions = {}) {
    if (!url) throw new TurnoutError("Outside of a page, say where the Turnout is: http://127.0.0.1:8400");
    this.#server = new Server(url, options.fetch ?? ((address, init) => fetch(address, init)), options.token);
    this.#integers = options.integers ?? "number";
    this.#feeds = new SharedFeeds(this.#server, this.#integers, options.quietMs ?? QUIET_MS);
  }

  table<Row extends object = Record<string, Value>>(name: string): Table<Row> {
    return new Table<Row>(name, this.#server, this.#feeds, this.#integers);
  }

  /** All tables with their columns and numbers of rows. */
  async tables(): Promise<readonly TableInfo[]> {
    return ((await this.#server.json("/api/tables")) as { tables: TableInfo[] }).tables;
  }

  async status(): Promise<Status> {
    return (await this.#server.json("/api/status")) as Status;
  }

  /** Show other topics or another join type. Throws SwitchRejected, with the reason, if that cannot be. */
  switch(to: SwitchTo, options: { signal?: AbortSignal } = {}): Promise<Outcome> {
    return publish(this.#server, "/api/control", to, options.signal);
  }

  /** Go back to what was shown before. Throws Refused if nothing was. */
  undo(options: { signal?: AbortSignal } = {}): Promise<Outcome> {
    return publish(this.#server, "/api/undo", undefined, options.signal);
  }
}

/** One stream for each table: a browser allows six connections to a server, and no more. */
class SharedFeeds implements Feeds {
  readonly #server: Server;
  readonly #options: { integers: Integers; quietMs: number };
  readonly #feeds = new Map<string, Feed<unknown>>();

  constructor(server: Server, integers: Integers, quietMs: number) {
    this.#server = server;
    this.#options = { integers, quietMs };
  }

  join<Row>(name: string, listener: Listener<Row>): Feed<Row> {
    const feed = (this.#feeds.get(name) as Feed<Row> | undefined) ?? new Feed<Row>(this.#server, name, this.#options);
    this.#feeds.set(name, feed as Feed<unknown>);
    feed.add(listener);
    return feed;
  }

  leave<Row>(name: string, listener: Listener<Row>): void {
    const feed = this.#feeds.get(name) as Feed<Row> | undefined;
    feed?.remove(listener);
    if (feed?.idle) {
      feed.end();
      this.#feeds.delete(name);
    }
  }
}
