/** Requests to one Turnout: an answer, or an error that says what is wrong. */

import { Refused, TurnoutError, Unreachable } from "./errors.ts";

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

export class Server {
  readonly url: string;
  readonly #fetch: Fetch;
  readonly #token: string | undefined;

  constructor(url: string, fetch: Fetch, token?: string) {
    if (!/^https?:\/\//.test(url)) throw new TurnoutError(`"${url}" is not an address such as http://127.0.0.1:8400`);
    this.url = url.replace(/\/+$/, "");
    this.#fetch = fetch;
    this.#token = token;
  }

  /** The answer, if it is not an error or has one of the statuses that are `expected`. */
  async ask(path: string, init: RequestInit = {}, expected: readonly number[] = []): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.#fetch(this.url + path, this.#authorised(init));
    } catch (error) {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new Unreachable(`No Turnout answers at ${this.url}: ${causeOf(error)}`, { cause: error });
    }
    if (answer.ok || expected.includes(answer.status)) return answer;
    throw new Refused(await refusal(answer, this.url), answer.status);
  }

  #authorised(init: RequestInit): RequestInit {
    if (this.#token === undefined) return init;
    return {
      ...init,
      headers: { ...(init.headers as Record<string, string>), Authorization: `Bearer ${this.#token}` },
    };
  }

  async json(path: string, init?: RequestInit): Promise<unknown> {
    return (await this.ask(path, init)).json();
  }
}

async function refusal(answer: Response, url: string): Promise<string> {
  const said: unknown = await answer.json().catch(() => null);
  if (typeof said === "object" && said !== null && "error" in said) {
    return answer.status === 401 ? `${said.error}; new Turnout(url, { token }) sends one` : String(said.error);
  }
  return `${url} answers with ${answer.status} ${answer.statusText}: is that a Turnout?`;
}

/** Node hides why a connection failed inside of "fetch failed". */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
}
