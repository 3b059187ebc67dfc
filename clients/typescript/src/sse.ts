/** Server-sent events, from text that comes in pieces of any size. */

export interface EventSink {
  /** Some of an event's data; `kind` is the event's. */
  data(kind: string, text: string): void;
  /** The event is complete. */
  end(): void;
}

/**
 * Hands on data as it comes, before its line is complete: a line may have a hundred megabytes. It counts on the server to
 * name an event's kind before its data. Data that has several lines comes with the line breaks between them.
 */
export class EventLines {
  readonly #sink: EventSink;
  #kind = "message";
  #line = "";
  #inData = false;
  #hasData = false;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  push(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      this.#piece(text.slice(from, end < 0 ? text.length : end));
      if (end < 0) return;
      this.#lineEnd();
      from = end + 1;
    }
  }

  #piece(text: string): void {
    if (this.#inData) {
      this.#sink.data(this.#kind, text);
      return;
    }
    this.#line += text;
    if (this.#line.startsWith("data:")) {
      if (this.#hasData) this.#sink.data(this.#kind, "\n");
      this.#sink.data(this.#kind, this.#line.slice("data:".length));
      this.#inData = this.#hasData = true;
      this.#line = "";
    }
  }

  #lineEnd(): void {
    if (this.#inData) {
      this.#inData = false;
      return;
    }
    const line = this.#line.replace(/\r$/, "");
    this.#line = "";
    if (line.startsWith("event:")) {
      this.#kind = line.slice("event:".length).trim();
    } else if (line === "") {
      if (this.#hasData) this.#sink.end();
      this.#kind = "message";
      this.#hasData = false;
    } // else a comment, which only says that the server is still there, or a field that is not used here
  }
}
