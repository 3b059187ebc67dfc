/** What to ask a snapshot for. */

type Name<Row> = keyof Row & string;

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "~";

/** `["balance", ">", 100]`; `~` means "contains". A row without a value there is left out. */
export type Condition<Row> = readonly [Name<Row>, Operator, string | number | bigint | boolean];

/** `"userId"` or `["balance", "desc"]`. */
export type SortKey<Row> = Name<Row> | readonly [Name<Row>, "asc" | "desc"];

export interface Query<Row, Column extends Name<Row> = Name<Row>> {
  /** The columns to show, in this order; all of them unless told. */
  readonly columns?: readonly Column[];
  /** All of these. */
  readonly filter?: readonly Condition<Row>[];
  readonly sort?: readonly SortKey<Row>[];
  readonly limit?: number;
}

/** A query as part of an address: with its question mark, or empty. */
export function queryString<Row, Column extends Name<Row>>(query: Query<Row, Column>): string {
  const parameters = new URLSearchParams();
  for (const column of query.columns ?? []) parameters.append("columns", column);
  for (const condition of query.filter ?? []) parameters.append("filter", condition.join(""));
  for (const key of query.sort ?? []) parameters.append("sort", typeof key === "string" ? key : key.join(":"));
  if (query.limit !== undefined) parameters.set("limit", String(query.limit));
  return parameters.size > 0 ? `?${parameters}` : "";
}
