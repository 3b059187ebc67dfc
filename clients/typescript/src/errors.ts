/** What can go wrong between a client and a Turnout. */

export class TurnoutError extends Error {
  override name = "TurnoutError";
}

/** Nobody answered. */
export class Unreachable extends TurnoutError {
  override name = "Unreachable";
}

/** The server answered, and refused: an unknown table, a filter on a column that is not there, nothing to undo. */
export class Refused extends TurnoutError {
  override name = "Refused";
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A control message that changes nothing, and why. */
export class SwitchRejected extends TurnoutError {
  override name = "SwitchRejected";
  readonly id: string;
  readonly reason: string;

  constructor(id: string, reason: string) {
    super(`The switch was rejected: ${reason}`);
    this.id = id;
    this.reason = reason;
  }
}
