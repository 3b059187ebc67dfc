import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Connection, type Fetch, type Live, Turnout } from "../src/index.ts";
import { FedServer, type UserRow } from "./fed_server.ts";
import { until } from "./waiting.ts";

let server: FedServer;
let stops: (() => void)[] = [];

beforeAll(async () => {
  server = await FedServer.start("--keep-alive-seconds=0.1");
});
afterAll(() => server.kill());
afterEach(async () => {
  for (const stop of stops) stop();
  stops = [];
  await server.stop();
  await server.again();
});

/** What somebody sees who keeps a table open: the ids at every call, and the connection's states. */
function watch(quietMs = 40_000, through: Fetch = fetch) {
  const seen = { ids: [] as string[][], states: [] as Connection["state"][], reasons: [] as unknown[] };
  const table = new Turnout(server.url, { quietMs, fetch: through }).table<UserRow>("users_ui");
  const look = (rows: readonly Live<UserRow>[]) => seen.ids.push(rows.map((row) => row._row));
  const onState = ({ state, reason }: Connection) => {
    seen.states.push(state);
    if (reason) seen.reasons.push(reason);
  };
  stops.push(table.subscribe(look, { onState, pace: "batch" }));
  return seen;
}

test("a connection that breaks is made again, and what changed meanwhile is there", async () => {
  await server.change([["1", 1]]);
  const seen = watch();
  await until(() => seen.ids.length === 1, "the first rows");
  await server.cut();
  await server.change([["2", 2]], ["1"]);
  await until(() => seen.ids.at(-1)?.join() === "2", "the new rows");
  expect(seen.ids.every((ids) => ids.length > 0)).toBe(true);
  expect(seen.states).toEqual(["connecting", "connected", "lost", "connected"]);
});

test("a restart is survived without an empty moment: what was shown stays until there is something else", async () => {
  await server.swap(3, [
    ["1", 1],
    ["2", 2],
  ]);
  const seen = watch();
  await until(() => seen.ids.length === 1, "the first rows");
  await server.stop();
  await until(() => seen.states.at(-1) === "lost", "the loss is told");
  await server.again();
  await until(() => seen.states.at(-1) === "connected", "connected again, to a server that shows nothing yet");
  expect(seen.ids).toEqual([["1", "2"]]);
  await server.swap(4, [["3", 3]]);
  await until(() => seen.ids.length === 2, "the new rows");
  expect(seen.ids).toEqual([["1", "2"], ["3"]]);
});

test("after a restart the first change takes the place of all that was held", async () => {
  await server.change([
    ["1", 1],
    ["2", 2],
  ]);
  const seen = watch();
  await until(() => seen.ids.length === 1, "the first rows");
  await server.stop();
  await server.again();
  await until(() => seen.states.filter((state) => state === "connected").length === 2, "connected again");
  await server.change([["3", 3]]);
  await until(() => seen.ids.length === 2, "the first row of the new server");
  expect(seen.ids[1]).toEqual(["3"]);
});

test("a table that really is empty is shown empty", async () => {
  await server.swap(1, [["1", 1]]);
  const seen = watch();
  await until(() => seen.ids.length === 1, "the first rows");
  await server.swap(2, []);
  await until(() => seen.ids.length === 2, "no rows");
  await server.cut();
  await until(() => seen.ids.length === 3, "connected again");
  expect(seen.ids).toEqual([["1"], [], []]);
});

test("a server that is killed and started again by somebody else is found again", async () => {
  await server.change([["1", 1]]);
  const seen = watch();
  await until(() => seen.ids.length === 1, "the first rows");
  const port = server.port;
  await server.kill();
  await until(() => seen.states.at(-1) === "lost", "the loss is told");
  server = await FedServer.start(`--port=${port}`, "--keep-alive-seconds=0.1");
  await server.change([["2", 2]]);
  await until(() => seen.ids.at(-1)?.join() === "2", "the new rows", 30_000);
  expect(seen.ids.every((ids) => ids.length > 0)).toBe(true);
}, 90_000);

test("a connection that is half dead is noticed by its silence", async () => {
  await server.change([["1", 1]]);
  const seen = watch(1_500);
  await until(() => seen.ids.length === 1, "the first rows");
  server.freeze();
  await until(() => seen.states.at(-1) === "lost", "the silence is noticed");
  expect(seen.reasons[0]).toMatch(/^nothing came for \d s$/);
  server.thaw();
  await server.change([["2", 2]]);
  await until(() => seen.ids.at(-1)?.join() === "1,2", "the new row", 20_000);
});

test("when the network is back, it is tried at once", async () => {
  await server.stop();
  const browser = new EventTarget();
  vi.stubGlobal("addEventListener", browser.addEventListener.bind(browser));
  vi.stubGlobal("removeEventListener", browser.removeEventListener.bind(browser));
  let tries = 0;
  watch(40_000, (url, init) => {
    tries += 1;
    return fetch(url, init);
  });
  await until(() => tries === 4, "four tries"); // the next would be 2 to 4 s later
  browser.dispatchEvent(new Event("online"));
  await until(() => tries === 5, "another one", 1_000);
  vi.unstubAllGlobals();
  await server.again();
});

test("a quiet table is not taken for a dead one", async () => {
  await server.change([["1", 1]]);
  let pieces = 0;
  const counting = async (url: string, init?: RequestInit) => {
    const answer = await fetch(url, init);
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, next) => {
        pieces += 1;
        next.enqueue(piece);
      },
    });
    return new Response(answer.body?.pipeThrough(count) ?? null, answer);
  };
  const seen = watch(1_500, counting);
  await until(() => pieces > 40, "the server has said often enough that it is still there"); // for 4 s
  expect(seen.states).toEqual(["connecting", "connected"]);
  expect(seen.ids).toEqual([["1"]]);
});
