// @ts-check
// Perspective's messages, as far as the page has to understand them: who a message is about, and what it asks for.
// They are protobuf: field 1 is the message's number, 2 the table or view, and the one that is left what is asked.

/** What is asked for, by the number of its field (perspective.proto, 5.6). */
export const Kind = Object.freeze({
  HOSTED_TABLES: 4,
  MAKE_VIEW: 6,
  DELETE_VIEW: 11,
  COLLAPSE: 18,
  EXPAND: 19,
  ON_UPDATE: 21,
  NO_UPDATE: 22,
  SET_DEPTH: 23,
  ON_TABLE_DELETE: 29,
  NO_TABLE_DELETE: 30,
  ON_VIEW_DELETE: 34,
  NO_VIEW_DELETE: 35,
  ON_REMOVE: 39,
  NO_REMOVE: 40,
});

/**
 * @typedef {object} Message
 * @property {number} id
 * @property {string} entity a table's name or a view's id
 * @property {number} kind 0 if it says nothing but whom it is about
 * @property {Uint8Array} body
 */

const NUMBER = 0;
const BYTES = 2;
const text = { decoder: new TextDecoder(), encoder: new TextEncoder() };

/**
 * @param {Uint8Array} bytes
 * @returns {Message}
 */
export function read(bytes) {
  /** @type {Message} */
  const message = { id: 0, entity: "", kind: 0, body: new Uint8Array() };
  for (const { field, value } of fields(bytes)) {
    if (typeof value === "number") message.id = field === 1 ? value : message.id;
    else if (field === 2) message.entity = text.decoder.decode(value);
    else [message.kind, message.body] = [field, value];
  }
  return message;
}

/**
 * The id of the view that a request makes: the first field of its body.
 * @param {Message} request
 */
export function viewMade(request) {
  for (const { field, value } of fields(request.body)) {
    if (field === 1 && typeof value !== "number") return text.decoder.decode(value);
  }
  return "";
}

/**
 * The number of the request that this one takes back.
 * @param {Message} request
 */
export function takenBack(request) {
  for (const { field, value } of fields(request.body)) if (field === 1 && typeof value === "number") return value;
  return 0;
}

/**
 * What the server sends when a view has changed.
 * @param {number} id of the request to be told
 * @param {string} entity the view
 */
export function updated(id, entity) {
  const name = text.encoder.encode(entity);
  return new Uint8Array([
    ...[tag(1, NUMBER), varint(id)].flat(),
    ...[tag(2, BYTES), varint(name.length), [...name]].flat(),
    ...[tag(Kind.ON_UPDATE, BYTES), varint(0)].flat(),
  ]);
}

/**
 * @param {Uint8Array} bytes
 * @returns {Generator<{field: number, value: number | Uint8Array}>}
 */
function* fields(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = number();
    const field = Math.floor(key / 8);
    if (key % 8 === NUMBER) yield { field, value: number() };
    else if (key % 8 === BYTES) {
      const length = number();
      at += length;
      yield { field, value: bytes.subarray(at - length, at) };
    } else throw new Error(`a message of Perspective has a field of type ${key % 8}`);
  }
}

/**
 * @param {number} field
 * @param {number} type
 */
function tag(field, type) {
  return varint(field * 8 + type);
}

/**
 * @param {number} value
 * @returns {number[]}
 */
function varint(value) {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
