/** What a client holds after whatever happened is what the server has, row for row, ids included. */

import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Change, type Live, Turnout } from "../src/index.ts";
import { type Fed, FedServer, type UserRow } from "./fed_server.ts";
import { until } from "./waiting.ts";

let server: FedServer;

beforeAll(async () => {
  server = await FedServer.start();
});
afterAll(() => server.kill());

type Step =
  | { kind: "change"; rows: Fed[]; removes: string[] }
  | { kind: "swap"; rows: Fed[] }
  | { kind: "cut" }
  | { kind: "restart"; wait: boolean }
  | { kind: "settle" };

const id = fc.integer({ min: 0, max: 9 }).map(String);
const rows = fc
  .uniqueArray(fc.tuple(id, fc.option(fc.maxSafeInteger())), { selector: ([each]) => each, maxLength: 8 })
  .map((list) => list as Fed[]);
const change = fc.tuple(rows, fc.uniqueArray(id, { maxLength: 4 })).map(
  ([upserts, removes]): Step => ({
    kind: "change",
    rows: upserts,
    removes: removes.filter((each) => !upserts.some(([other]) => other === each)),
  }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: change },
  { weight: 3, arbitrary: rows.map((list): Step => ({ kind: "swap", rows: list })) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: "cut" }) },
  { weight: 2, arbitrary: fc.boolean().map((wait): Step => ({ kind: "restart", wait })) },
  { weight: 3, arbitrary: fc.constant<Step>({ kind: "settle" }) },
);

const FIRST_CHANGE_AFTER_A_RESTART: Step[] = [
  { kind: "restart", wait: true },
  { kind: "change", rows: [["1", 1]], removes: [] },
  { kind: "settle" },
];

/** A table as its deltas make it. */
class Copy {
  rows = new Map<string, Live<UserRow>>();

  take(event: Change<UserRow>): void {
    if (event.kind !== "change") this.rows = new Map(event.rows.map((row) => [row._row, row]));
    else {
      for (const gone of event.removes) this.rows.delete(gone);
      for (const row of event.upserts) {
        this.rows.delete(row._row);
        this.rows.set(row._row, row);
      }
    }
  }
}

/** What a new client is shown: from REST without ids, from a stream with them. */
async function shown(): Promise<{ generation: number; plain: unknown; withIds: unknown }> {
  const table = new Turnout(server.url).table<UserRow>("users_ui");
  const { generation, rows: plain } = await table.rows().catch(() => table.rows()); // the first may meet a cut
  for await (const withIds of table) return { generation, plain, withIds };
  throw new Error("the loop has no end");
}

const withoutId = ({ _row, ...row }: Live<UserRow>) => row;

test("what a client holds equals the snapshot", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25, size: "max" }), async (steps) => {
      let generation = 1;
      await server.stop();
      await server.again();
      await server.swap(generation, [["first", 0]]);
      let held: readonly Live<UserRow>[] = [];
      let heldGeneration = 0;
      let empty = 0;
      const copy = new Copy();
      const table = new Turnout(server.url).table<UserRow>("users_ui");
      let mayBeEmpty = false;
      let state = "";
      const stops = [
        table.changes((event) => copy.take(event)),
        table.subscribe(
          (all, info) => {
            held = all;
            heldGeneration = info.generation;
            if (all.length === 0 && !mayBeEmpty) empty += 1;
          },
          {
            pace: "batch",
            onState: (connection) => {
              state = connection.state;
            },
          },
        ),
      ];
      const settled = async () => {
        const { generation: now, plain, withIds } = await shown();
        await until(
          () => heldGeneration === now && JSON.stringify(held) === JSON.stringify(withIds),
          `${JSON.stringify(withIds)} of generation ${now} is held, not ${JSON.stringify(held)} of ${heldGeneration}`,
        );
        expect(held.map(withoutId)).toEqual(plain);
        expect([...copy.rows.values()]).toEqual(withIds);
      };
      await settled();
      let begun = true; // has the server anything to show?
      for (const each of steps) {
        if (each.kind === "change") {
          mayBeEmpty = true; // by removes
          await server.change(each.rows, each.removes);
          begun ||= each.rows.length > 0;
        } else if (each.kind === "swap") {
          mayBeEmpty ||= each.rows.length === 0;
          await server.swap(++generation, each.rows);
          begun = true;
        } else if (each.kind === "cut") {
          await server.cut();
        } else if (each.kind === "restart") {
          await server.stop();
          await until(() => state === "lost", "the loss is noticed");
          await server.again();
          begun = false;
          if (each.wait)
            await until(() => state === "connected", "the client has found a server that shows nothing yet");
        } else if (begun) await settled();
      }
      if (!begun) await server.swap(++generation, [["last", 1]]);
      await settled();
      expect(empty).toBe(0);
      for (const stop of stops) stop();
    }),
    { numRuns: 15, interruptAfterTimeLimit: 60_000, examples: [[FIRST_CHANGE_AFTER_A_RESTART]] },
  );
}, 120_000);
