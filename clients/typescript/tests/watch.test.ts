import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Watch } from "../src/watch.ts";

let deaths: string[] = [];
let watch: Watch;

beforeEach(() => {
  vi.useFakeTimers();
  deaths = [];
  watch = new Watch(40_000, (why) => deaths.push(why));
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

test("what speaks every 15 s is alive", () => {
  for (let spoken = 0; spoken < 20; spoken++) {
    vi.advanceTimersByTime(15_000);
    watch.heard();
  }
  expect(deaths).toEqual([]);
});

test("40 s of silence are death, told once", () => {
  vi.advanceTimersByTime(40_000);
  expect(deaths).toEqual([]);
  vi.advanceTimersByTime(2_000);
  expect(deaths).toEqual(["nothing came for 42 s"]);
  vi.advanceTimersByTime(100_000);
  expect(deaths).toHaveLength(1);
});

test("after a sleep in which a word of the server was missed, it is not waited for 40 s", () => {
  vi.advanceTimersByTime(4_000);
  vi.setSystemTime(Date.now() + 25_000);
  vi.advanceTimersByTime(2_000);
  expect(deaths).toHaveLength(1);
});

test("timers that come late in a hidden page are no sleep if the server was heard", () => {
  vi.setSystemTime(Date.now() + 60_000);
  watch.heard();
  vi.advanceTimersByTime(2_000);
  expect(deaths).toEqual([]);
});
