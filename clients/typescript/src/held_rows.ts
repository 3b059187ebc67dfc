/** The rows of a table, kept up to date by its events. */

/** A row of a live table, with its id. */
export type Live<Row> = Readonly<Row> & { readonly _row: string };

/** All rows: at first, after a lost connection, or of another generation. */
export interface AllRows<Row> {
  readonly kind: "snapshot" | "swap";
  readonly generation: number;
  readonly rows: readonly Live<Row>[];
}

export interface SomeRows<Row> {
  readonly kind: "change";
  readonly generation: number;
  /** New rows, and rows that take the place of those with the same `_row`. */
  readonly upserts: readonly Live<Row>[];
  /** The `_row` of rows that are gone. */
  readonly removes: readonly string[];
}

export type Change<Row> = AllRows<Row> | SomeRows<Row>;

export class HeldRows<Row> {
  #rows = new Map<string, Live<Row>>();
  #all: readonly Live<Row>[] | undefined;
  #generation = 0;
  /** What is held is what a server showed that has been started anew since, and shows nothing yet. */
  #outdated = false;

  get generation(): number {
    return this.#generation;
  }

  /** All rows, those that changed last at the end, as the server has them. What was handed out is never changed. */
  get all(): readonly Live<Row>[] {
    this.#all ??= Object.freeze([...this.#rows.values()]);
    return this.#all;
  }

  /**
   * Take an event over. Returns the change that it makes to what is held; undefined if it makes none.
   *
   * A server that has just been started has no rows and no generation yet. That is no news about the data: what is held
   * stays until the server has something to show.
   */
  take(change: Change<Row>): Change<Row> | undefined {
    if (change.kind !== "change") {
      const nothingYet = change.generation === 0 && change.rows.length === 0;
      if (nothingYet && this.#rows.size > 0) {
        this.#outdated = true;
        return undefined;
      }
      this.#replace(change);
      return change;
    }
    if (!this.#outdated) {
      this.#apply(change);
      return change;
    }
    if (change.generation === 0 && change.upserts.length === 0) return undefined;
    const all: AllRows<Row> = { kind: "snapshot", generation: change.generation, rows: change.upserts };
    this.#replace(all);
    return all;
  }

  #replace({ generation, rows }: AllRows<Row>): void {
    this.#rows = new Map();
    for (const row of rows) this.#rows.set(row._row, row);
    this.#generation = generation;
    this.#outdated = false;
    this.#all = undefined;
  }

  #apply({ generation, upserts, removes }: SomeRows<Row>): void {
    for (const id of removes) this.#rows.delete(id);
    for (const row of upserts) {
      this.#rows.delete(row._row); // so that it is the last one
      this.#rows.set(row._row, row);
    }
    this.#generation = generation;
    this.#all = undefined;
  }
}
