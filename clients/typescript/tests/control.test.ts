import { afterAll, beforeAll, expect, test } from "vitest";
import { Refused, SwitchRejected, Turnout } from "../src/index.ts";
import { FedServer } from "./fed_server.ts";
import { until } from "./waiting.ts";

let server: FedServer;
let turnout: Turnout;

beforeAll(async () => {
  server = await FedServer.start("--outcome-seconds=0.05");
  turnout = new Turnout(server.url);
});
afterAll(() => server.kill());

test.each(["applied", "no change", "superseded"] as const)("a switch that is %s tells so", async (outcome) => {
  await server.outcome(outcome);
  expect(await turnout.switch({ usersTopic: "users_b", joinType: "inner" })).toEqual({ id: "0:0", outcome });
  expect((await server.published()).map((value) => JSON.parse(value))).toEqual([
    { usersTopic: "users_b", joinType: "inner" },
  ]);
});

test("a switch that is rejected throws the reason", async () => {
  await server.outcome("rejected: there is no topic 'users_x'");
  const failure = await turnout.switch({ usersTopic: "users_x" }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SwitchRejected);
  expect(failure).toMatchObject({ id: "0:0", reason: "there is no topic 'users_x'" });
});

test("a switch that takes longer than the server waits is asked for until it is known", async () => {
  await server.outcome(null);
  const applied = turnout.switch({ joinType: "full" });
  await until(async () => (await server.published()).length === 1, "the message is published");
  await server.conclude(0, "applied");
  expect(await applied).toEqual({ id: "0:0", outcome: "applied" });

  const rejected = turnout.switch({ joinType: "anti" });
  await until(async () => (await server.published()).length === 2, "the other message is published");
  await server.conclude(1, "rejected: not ready within 60 s");
  await expect(rejected).rejects.toThrow("not ready within 60 s");
});

test("waiting for an outcome can be given up", async () => {
  await server.outcome(null);
  const controller = new AbortController();
  const switched = turnout.switch({ joinType: "semi" }, { signal: controller.signal });
  await until(async () => (await server.published()).length === 1, "the message is published");
  controller.abort(new Error("enough"));
  await expect(switched).rejects.toThrow("enough");
});

test("an undo while Turnout is still starting is refused with what to do", async () => {
  await expect(turnout.undo()).rejects.toThrow(Refused);
  await expect(turnout.undo()).rejects.toThrow("try again in a few seconds");
});
