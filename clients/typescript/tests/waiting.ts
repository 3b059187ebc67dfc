/** Waiting for a condition, with a deadline. */

import { vi } from "vitest";

export async function until(condition: () => unknown, what: string, ms = 10_000): Promise<void> {
  await vi.waitUntil(condition, { timeout: ms, interval: 5 }).catch(() => {
    throw new Error(`not within ${ms} ms: ${what}`);
  });
}
