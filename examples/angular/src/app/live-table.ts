/** A live table as signals: all that Angular needs to know of Turnout. */

import { DestroyRef, inject, type Signal, signal } from "@angular/core";
import { type Connection, type Live, type Pace, Turnout } from "@turnout/client";

export interface LiveTable<Row> {
  readonly rows: Signal<readonly Live<Row>[]>;
  /** Of the rows: another one after each switch. */
  readonly generation: Signal<number>;
  readonly connection: Signal<Connection>;
}

/** Follows a table, by its name, for as long as the component lives that asks for it. */
export function liveTable<Row extends object>(name: string, pace: Pace = "frame"): LiveTable<Row> {
  const rows = signal<readonly Live<Row>[]>([]);
  const generation = signal(0);
  const connection = signal<Connection>({ state: "connecting" });
  const stop = inject(Turnout)
    .table<Row>(name)
    .subscribe(
      (all, info) => {
        rows.set(all);
        generation.set(info.generation);
      },
      { pace, onState: (state) => connection.set(state) },
    );
  inject(DestroyRef).onDestroy(stop);
  return { rows, generation, connection };
}
