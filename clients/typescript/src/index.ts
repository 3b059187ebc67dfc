/** Turnout's live tables: in a browser, in Node, in any framework. */

export type { JoinType, Outcome, SwitchTo } from "./control.ts";
export { Refused, SwitchRejected, TurnoutError, Unreachable } from "./errors.ts";
export type { Connection } from "./feed.ts";
export type { AllRows, Change, Live, SomeRows } from "./held_rows.ts";
export type { Integers } from "./integers.ts";
export type { Pace } from "./pace.ts";
export type { Condition, Operator, Query, SortKey } from "./query.ts";
export type { Fetch } from "./server.ts";
export type { ChangesOptions, Info, Snapshot, Stop, SubscribeOptions, Table, Value } from "./table.ts";
export type { ColumnType, Status, StatusRow, TableInfo, TurnoutOptions } from "./turnout.ts";
export { Turnout } from "./turnout.ts";
