/** Reads a JSON object with long lists while its text is still coming, so that no single step takes long. */

const [QUOTE, BACKSLASH, COMMA, LIST_BEGIN, LIST_END, OBJECT_BEGIN, OBJECT_END] = [...'"\\,[]{}'].map((sign) =>
  sign.charCodeAt(0),
);

export type ParseList = (text: string) => unknown[];

/**
 * Items of the object's own lists are parsed as soon as they are complete. What is left of the text, with empty lists, is
 * parsed at the end: `{"generation":1,"rows":[]}`.
 */
export class LongObject {
  readonly #parse: ParseList;
  readonly #lists: unknown[][] = [];
  #frame = "";
  #rest = "";
  #depth = 0;
  #inList = false;
  #inString = false;
  #skip = 0;

  constructor(parse: ParseList = JSON.parse) {
    this.#parse = parse;
  }

  push(text: string): void {
    let from = 0; // what comes before it has been taken
    let comma = -1;
    let at = this.#skip;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#inString) {
        if (code === QUOTE) this.#inString = false;
        else if (code === BACKSLASH) at++;
      } else if (code === QUOTE) {
        this.#inString = true;
      } else if (code === COMMA) {
        if (this.#depth === 2) comma = at;
      } else if (code === LIST_BEGIN || code === OBJECT_BEGIN) {
        this.#depth++;
        if (this.#depth === 2 && code === LIST_BEGIN) {
          this.#frame += text.slice(from, at + 1);
          from = at + 1;
          this.#inList = true;
          this.#lists.push([]);
        }
      } else if (code === LIST_END || code === OBJECT_END) {
        this.#depth--;
        if (this.#depth === 1 && this.#inList) {
          this.#take(text.slice(from, at));
          from = at;
          this.#inList = false;
        }
      }
    }
    this.#skip = at - text.length; // 1 if the text ended within an escape
    if (!this.#inList) {
      this.#frame += text.slice(from);
      return;
    }
    if (comma >= from) {
      this.#take(text.slice(from, comma));
      from = comma + 1;
    }
    this.#rest += text.slice(from);
  }

  /** The object, once all of its text has come. */
  end(): Record<string, unknown> {
    const object = JSON.parse(this.#frame) as Record<string, unknown>;
    const lists = this.#lists.values();
    for (const [name, value] of Object.entries(object)) {
      if (Array.isArray(value)) object[name] = lists.next().value;
    }
    return object;
  }

  #take(text: string): void {
    const list = this.#lists.at(-1);
    for (const item of this.#parse(`[${this.#rest}${text}]`)) list?.push(item);
    this.#rest = "";
  }
}
