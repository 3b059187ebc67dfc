import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Change, type Connection, type Live, Refused, Turnout, Unreachable } from "../src/index.ts";
import { FedServer, type UserRow } from "./fed_server.ts";
import { until } from "./waiting.ts";

let server: FedServer;
let generation = 0;

beforeAll(async () => {
  server = await FedServer.start();
});
afterAll(() => server.kill());
beforeEach(async () => {
  generation += 1;
  await server.swap(generation, [
    ["1", 10],
    ["2", 20],
  ]);
});

function users(turnout = new Turnout(server.url)) {
  return turnout.table<UserRow>("users_ui");
}

const ages = (rows: readonly Live<UserRow>[]) => Object.fromEntries(rows.map((row) => [row._row, row.age]));

describe("a subscription", () => {
  test("is called with all rows, and again with all rows when some have changed", async () => {
    const calls: (readonly Live<UserRow>[])[] = [];
    const stop = users().subscribe((rows) => calls.push(rows));
    await until(() => calls.length === 1, "the first rows");
    expect(calls[0]).toEqual([
      { _row: "1", userId: "u1", name: "name 1", email: null, age: 10 },
      { _row: "2", userId: "u2", name: "name 2", email: null, age: 20 },
    ]);
    await server.change([["3", 30]], ["1"]);
    await until(() => calls.length === 2, "the change");
    expect(ages(calls[1] ?? [])).toEqual({ 2: 20, 3: 30 });
    expect(calls[1]?.[0]).toBe(calls[0]?.[1]); // a row that has not changed is the same object
    expect(calls[0]).toHaveLength(2); // what was handed out stays as it was
    stop();
  });

  test("hands out what nobody can change for the others", async () => {
    let shown: readonly Live<UserRow>[] = [];
    const stop = users().subscribe((rows) => {
      shown = rows;
    });
    await until(() => shown.length, "rows");
    expect(() => (shown as Live<UserRow>[]).pop()).toThrow(TypeError);
    stop();
  });

  test("tells when the rows are those of another generation", async () => {
    const seen: { ids: string[]; generation: number; swapped: boolean }[] = [];
    const stop = users().subscribe((rows, info) => seen.push({ ids: rows.map((row) => row._row), ...info }));
    await until(() => seen.length === 1, "the first rows");
    await server.swap(++generation, [["9", 90]]);
    await until(() => seen.length === 2, "the swap");
    expect(seen[0]).toEqual({ ids: ["1", "2"], generation: generation - 1, swapped: false });
    expect(seen[1]).toEqual({ ids: ["9"], generation, swapped: true });
    await server.change([["8", 80]]);
    await until(() => seen.length === 3, "the change");
    expect(seen[2]).toEqual({ ids: ["9", "8"], generation, swapped: false });
    stop();
  });

  test("is told once for many changes, and the last call has all of them", async () => {
    let calls = 0;
    let newest: readonly Live<UserRow>[] = [];
    const stop = users().subscribe(
      (rows) => {
        calls += 1;
        newest = rows;
      },
      { pace: 200 },
    );
    await until(() => calls === 1, "the first rows");
    const began = performance.now();
    for (let number = 0; number < 300; number++) void server.change([["n", number]]);
    await until(() => ages(newest).n === 299, "the last change");
    expect(calls).toBeLessThanOrEqual(2 + (performance.now() - began) / 200);
    stop();
  });

  test("that comes later has the rows at once, from the same stream", async () => {
    const turnout = new Turnout(server.url);
    const seen: string[] = [];
    const stopFirst = users(turnout).subscribe(() => seen.push("first"));
    await until(() => seen.length === 1, "rows for the first");
    const stopSecond = users(turnout).subscribe((rows) => seen.push(`second ${rows.length}`));
    await until(() => seen.length === 2, "rows for the second");
    expect(seen).toEqual(["first", "second 2"]);
    expect(await server.streams("users_ui")).toBe(1);
    stopFirst();
    await server.change([["3", 30]]);
    await until(() => seen.at(-1) === "second 3", "the second goes on");
    stopSecond();
  });

  test("closes the stream when the last one ends, and is called no more", async () => {
    let calls = 0;
    const controller = new AbortController();
    const turnout = new Turnout(server.url);
    const stop = users(turnout).subscribe(() => calls++);
    users(turnout).subscribe(() => calls++, { signal: controller.signal });
    await until(() => calls === 2, "rows for both");
    expect(await server.streams("users_ui")).toBe(1);
    stop();
    stop();
    controller.abort();
    await until(async () => (await server.streams("users_ui")) === 0, "the stream is closed");
    await server.change([["3", 30]]);
    const shown = (await users(turnout).rows()).rows;
    expect(shown).toHaveLength(3);
    expect(calls).toBe(2);
  });

  test("whose callback fails does not keep rows from the others", async () => {
    const turnout = new Turnout(server.url);
    const failures: unknown[] = [];
    const note = (error: unknown) => failures.push(error);
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", note);
    let rows = 0;
    const stops = [
      users(turnout).changes(() => {
        throw new Error("mine");
      }),
      users(turnout).subscribe((all) => {
        rows = all.length;
      }),
    ];
    await until(() => rows === 2 && failures.length > 0, "the rows, and the failure");
    expect(failures).toEqual([new Error("mine")]);
    for (const stop of stops) stop();
    process.off("uncaughtException", note);
    for (const listener of others) process.on("uncaughtException", listener);
  });

  test("to a table that is not there says so, and lists those that are", async () => {
    const states: Connection[] = [];
    const stop = new Turnout(server.url)
      .table("user_ui")
      .subscribe(() => {}, { onState: (state) => states.push(state) });
    await until(() => states.length === 2, "the refusal");
    expect(states[0]).toEqual({ state: "connecting" });
    expect(states[1]).toMatchObject({ state: "lost", reason: expect.stringContaining("users_ui") });
    stop();
  });
});

describe("changes", () => {
  test("are a snapshot, then each change and swap", async () => {
    const seen: Change<UserRow>[] = [];
    const stop = users().changes((change) => seen.push(change));
    await until(() => seen.length === 1, "the snapshot");
    await server.change([["1", 11]], ["2"]);
    await server.swap(generation + 1, [["5", 50]]);
    await until(() => seen.length === 3, "both");
    generation += 1;
    expect(seen.map((change) => change.kind)).toEqual(["snapshot", "change", "swap"]);
    expect(seen[1]).toMatchObject({ generation: generation - 1, upserts: [{ _row: "1", age: 11 }], removes: ["2"] });
    expect(seen[2]).toMatchObject({ generation, rows: [{ _row: "5", age: 50 }] });
    stop();
  });

  test("begin with what others hold already", async () => {
    const table = users();
    let held = 0;
    const stopRows = table.subscribe((rows) => {
      held = rows.length;
    });
    await until(() => held, "rows are held");
    const seen: Change<UserRow>[] = [];
    const stop = table.changes((change) => seen.push(change));
    await until(() => seen.length === 1, "the snapshot");
    expect(seen[0]).toMatchObject({ kind: "snapshot", generation, rows: [{ _row: "1" }, { _row: "2" }] });
    stop();
    stopRows();
  });
});

test("a loop over a table has its rows, then those that they become, and closes the stream at its end", async () => {
  const seen: number[] = [];
  for await (const rows of users()) {
    seen.push(rows.length);
    if (rows.length === 4) break;
    await server.change([[String(rows.length + 1), 0]]);
  }
  expect(seen).toEqual([2, 3, 4]);
  await until(async () => (await server.streams("users_ui")) === 0, "the stream is closed");
});

describe("a snapshot", () => {
  test("has the rows that the query asks for", async () => {
    await server.change([
      ["3", 30],
      ["4", 40],
    ]);
    const { rows, ...more } = await users().rows({ filter: [["age", ">", 10]], sort: [["age", "desc"]], limit: 2 });
    expect(more).toEqual({ generation });
    expect(rows.map((row) => row.age)).toEqual([40, 30]);
    expect((await users().rows({ columns: ["age"], sort: ["userId"], limit: 1 })).rows).toEqual([{ age: 10 }]);
  });

  test("with a filter that is wrong is refused with the reason", async () => {
    const asked = users().rows({ filter: [["age", ">", "old"]] });
    await expect(asked).rejects.toThrow(Refused);
    await expect(asked).rejects.toThrow("'old' is not a long");
  });

  test("from nobody says where nobody is", async () => {
    const nobody = new Turnout("http://127.0.0.1:9");
    await expect(nobody.table("users_ui").rows()).rejects.toThrow(Unreachable);
    await expect(nobody.status()).rejects.toThrow("http://127.0.0.1:9");
  });
});

test("integers beyond 2^53 are exact as bigints, in snapshots and in changes", async () => {
  const large = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n];
  await server.swap(
    ++generation,
    large.map((number) => [`":${number},`, number] as const),
  );
  const turnout = new Turnout(server.url, { integers: "bigint" });
  const table = turnout.table<Omit<UserRow, "age"> & { age: bigint | null }>("users_ui");
  let shown: readonly { age: bigint | null; userId: string }[] = [];
  const stop = table.subscribe((rows) => {
    shown = rows;
  });
  await until(() => shown.length, "rows");
  expect(shown.map((row) => row.age)).toEqual(large);
  expect(shown.map((row) => row.userId)).toEqual(large.map((number) => `u":${number},`)); // a text stays a text
  await server.change([
    ["a", 5],
    ["b", null],
    ["c", 2n ** 60n + 7n],
  ]);
  await until(() => shown.length === 6, "the change");
  expect(shown.slice(3).map((row) => row.age)).toEqual([5n, null, 2n ** 60n + 7n]);
  expect((await table.rows()).rows.map((row) => row.age)).toEqual(shown.map((row) => row.age));
  stop();
});

test("tables and status are told", async () => {
  const turnout = new Turnout(server.url);
  const tables = await turnout.tables();
  expect(tables.find((table) => table.name === "users_ui")).toEqual({
    name: "users_ui",
    columns: { userId: "string", name: "string", email: "string", age: "long" },
    rows: 2,
  });
  expect(await turnout.status()).toMatchObject({ usersTopic: "users", joinType: "left", state: "starting" });
});

test("an address that is none is refused at once", () => {
  expect(() => new Turnout("127.0.0.1:8400")).toThrow("http://127.0.0.1:8400");
  expect(() => new Turnout()).toThrow("say where");
});
