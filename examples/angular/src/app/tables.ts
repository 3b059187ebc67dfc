/** The tables that this application shows. With another configuration of Turnout these are the lines to change. */

export interface FinalRow {
  readonly userId: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly age: number | null;
  readonly accountType: string | null;
  readonly balance: number | null;
}

export interface StatusRow {
  readonly usersTopic: string;
  readonly accountsTopic: string;
  readonly joinType: string;
  readonly lastApplied: string | null;
  readonly state: string;
  readonly generation: number;
  readonly message: string;
}

export const FINAL = "final_ui";
export const FINAL_COLUMNS: readonly (keyof FinalRow)[] = ["userId", "name", "email", "age", "accountType", "balance"];
export const STATUS = "orchestrator_status";
