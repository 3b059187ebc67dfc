/**
 * Integers that are exact. JSON from a Turnout has all 64 bits of a `long`, but `JSON.parse` makes doubles of them, which
 * are exact up to 2^53 only.
 */

export type Integers = "number" | "bigint";

/** Parses lists of rows in which the values of some columns become bigints. */
export class ExactRows {
  readonly #columns: readonly string[];
  readonly #long: RegExp;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
    // Where a value of such a column is. Within a text each quote has a backslash before it, so this is never in one;
    // the server writes no blanks.
    const names = columns.map((column) => JSON.stringify(column).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    this.#long = new RegExp(`(?<=[{,](?:${names.join("|")}):)-?\\d{16,}(?=[,}])`, "g");
  }

  parse(text: string): unknown[] {
    if (this.#columns.length === 0) return JSON.parse(text) as unknown[];
    const rows = JSON.parse(text.replace(this.#long, '"$&"')) as unknown[];
    for (const row of rows) {
      if (typeof row === "object" && row !== null) this.#makeExact(row as Record<string, unknown>);
    }
    return rows;
  }

  #makeExact(row: Record<string, unknown>): void {
    for (const column of this.#columns) {
      const value = row[column];
      if (typeof value === "number" || typeof value === "string") row[column] = BigInt(value);
    }
  }
}
