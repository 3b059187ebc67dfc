/** Control messages: what they ask for, and what became of them. */

import { Refused, SwitchRejected, TurnoutError, Unreachable } from "./errors.ts";
import { pause, pauseMs } from "./retrying.ts";
import type { Server } from "./server.ts";

export type JoinType = "left" | "inner" | "right" | "full" | "semi" | "anti";

/** What to show instead; what is not named stays. The fields are called by the tables of the server's configuration. */
export interface SwitchTo {
  readonly joinType?: JoinType | undefined;
  readonly [topic: `${string}Topic`]: string | undefined;
}

export interface Outcome {
  /** Of the control message, as the table of control messages has it in `_row`. */
  readonly id: string;
  /** `superseded`: a newer message came before this one was done. */
  readonly outcome: "applied" | "no change" | "superseded";
}

interface Answer {
  readonly id: string;
  readonly outcome?: string | null;
}

const REJECTED = /^rejected:?\s*/;

/** Sends a message and waits for what becomes of it, however long that takes. */
export async function publish(server: Server, path: string, message: unknown, signal?: AbortSignal): Promise<Outcome> {
  const request: RequestInit = { method: "POST", ...(signal && { signal }) };
  if (message !== undefined) {
    request.body = JSON.stringify(message);
    request.headers = { "Content-Type": "application/json" };
  }
  const answer = (await (await server.ask(path, request, [422])).json()) as Answer;
  return concluded(answer.id, answer.outcome ?? (await outcomeOf(server, answer.id, signal)));
}

/** Asks until it is known. A server that is being restarted keeps the message: it is in Kafka. */
async function outcomeOf(server: Server, id: string, signal?: AbortSignal): Promise<string> {
  for (let asked = 0; ; asked++) {
    await pause(pauseMs(asked), signal);
    signal?.throwIfAborted();
    try {
      const path = `/api/control/${encodeURIComponent(id)}`;
      const { outcome } = (await server.json(path, signal ? { signal } : {})) as Answer;
      if (outcome) return outcome;
    } catch (error) {
      if (!isNotYet(error)) throw error;
    }
  }
}

/** Nobody is there, or has read the message yet. */
function isNotYet(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && (error.status === 404 || error.status >= 500));
}

function concluded(id: string, outcome: string): Outcome {
  if (REJECTED.test(outcome)) throw new SwitchRejected(id, outcome.replace(REJECTED, ""));
  const known = (["applied", "no change", "superseded"] as const).find((word) => outcome.startsWith(word));
  if (!known) throw new TurnoutError(`control message ${id}: ${outcome}`);
  return { id, outcome: known };
}
