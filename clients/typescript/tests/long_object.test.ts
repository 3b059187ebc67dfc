import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ExactRows } from "../src/integers.ts";
import { LongObject } from "../src/long_object.ts";
import { EventLines } from "../src/sse.ts";

const row = fc.dictionary(
  fc.string(),
  fc.oneof(fc.string({ unit: "binary" }), fc.double(), fc.boolean(), fc.constant(null)),
);
const event = fc.record({
  generation: fc.nat(),
  rows: fc.array(row),
  removes: fc.array(fc.string({ unit: "binary" })),
  more: fc.option(row, { nil: undefined }),
});

/** The text in pieces, cut at these places. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

test("an object that comes in any pieces is the object that JSON.parse makes of the whole", () => {
  fc.assert(
    fc.property(event, fc.array(fc.nat()), (content, cuts) => {
      const text = JSON.stringify(content);
      const object = new LongObject();
      for (const piece of pieces(text, cuts)) object.push(piece);
      expect(object.end()).toEqual(JSON.parse(text));
    }),
  );
});

test("a text that is not JSON is an error, not nothing", () => {
  const broken = new LongObject();
  expect(() => {
    broken.push('{"generation":1,"rows":[{"a":1},{"a":}]}');
    broken.end();
  }).toThrow(SyntaxError);
});

test("events that come in any pieces are those that were sent", () => {
  const events = fc.array(fc.record({ kind: fc.constantFrom("snapshot", "change"), content: event }));
  const ends = fc.constantFrom("\n", "\r\n");
  fc.assert(
    fc.property(events, ends, fc.array(fc.nat()), (sent, end, cuts) => {
      const text = sent
        .flatMap(({ kind, content }) => [
          ": still here",
          "",
          `event: ${kind}`,
          `data: ${JSON.stringify(content)}`,
          "",
          "",
        ])
        .join(end);
      const seen: { kind: string; content: unknown }[] = [];
      let data = "";
      let last = "";
      const lines = new EventLines({
        data: (kind, piece) => {
          last = kind;
          data += piece;
        },
        end: () => {
          seen.push({ kind: last, content: JSON.parse(data) });
          data = "";
        },
      });
      for (const piece of pieces(text, cuts)) lines.push(piece);
      expect(seen).toEqual(JSON.parse(JSON.stringify(sent)));
    }),
  );
});

test("only integers of the columns asked for become bigints, whatever the texts say", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom('{"a\\":1234567890123456789,', '\\":1234567890123456,'),
  );
  const rows = fc.array(
    fc.record({
      "a\\": fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      text: texts,
      half: fc.double(),
    }),
  );
  fc.assert(
    fc.property(rows, (list) => {
      const written = list.map(
        (each) =>
          `{${JSON.stringify("a\\")}:${each["a\\"]},"text":${JSON.stringify(each.text)},"half":${JSON.stringify(each.half)}}`,
      );
      const expected = list.map((each) => ({ ...each, half: JSON.parse(JSON.stringify(each.half)) }));
      expect(new ExactRows(["a\\"]).parse(`[${written}]`)).toEqual(expected);
    }),
  );
});
