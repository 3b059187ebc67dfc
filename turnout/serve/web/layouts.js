// @ts-check
// Layouts: the present one is remembered by the browser; named ones can be kept, exported, imported and shared by link.

/** @import { Arrangement } from "./panels.js" */

const PRESENT = "turnout.layout";
const NAMED = "turnout.layouts";
const LINK = "#layout=";

/** @returns {Arrangement | null} as it was when the page was left */
export function remembered() {
  return parsed(localStorage.getItem(PRESENT));
}

/** @param {Arrangement} arrangement */
export function remember(arrangement) {
  localStorage.setItem(PRESENT, JSON.stringify(arrangement));
}

/** @returns {string[]} */
export function names() {
  return Object.keys(all()).sort((one, other) => one.localeCompare(other));
}

/**
 * @param {string} name
 * @returns {Arrangement | null}
 */
export function named(name) {
  return all()[name] ?? null;
}

/**
 * @param {string} name
 * @param {Arrangement | null} arrangement null: forget it
 */
export function keep(name, arrangement) {
  const layouts = all();
  if (arrangement) layouts[name] = arrangement;
  else delete layouts[name];
  localStorage.setItem(NAMED, JSON.stringify(layouts));
}

/**
 * Keep a layout that has to make room, under a name that is still free; that name.
 * @param {Arrangement} arrangement
 */
export function setAside(arrangement) {
  let name = "Earlier layout";
  for (let number = 2; named(name); number++) name = `Earlier layout ${number}`;
  keep(name, arrangement);
  return name;
}

/**
 * A layout as a file.
 * @param {string} name
 * @param {Arrangement} arrangement
 */
export function exported(name, arrangement) {
  return JSON.stringify({ turnout: "layout", name, ...arrangement }, null, 2);
}

/**
 * @param {string} text of a file
 * @returns {{name: string, arrangement: Arrangement}}
 */
export function imported(text) {
  const { turnout, name, ...arrangement } = json(text) ?? {};
  if (turnout !== "layout" || !isArrangement(arrangement)) throw new Error("it is not a layout of Turnout");
  return { name: String(name ?? "imported"), arrangement };
}

/**
 * The address of this page with a layout in it. What stands behind # is not sent to the server.
 * @param {Arrangement} arrangement
 */
export async function link(arrangement) {
  const packed = await through(
    new TextEncoder().encode(JSON.stringify(arrangement)),
    new CompressionStream("deflate-raw"),
  );
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return (
    location.origin + location.pathname + LINK + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  );
}

/**
 * The layout in the page's address, which is then taken out of it. Throws if it cannot be read.
 * @returns {Promise<Arrangement | null>}
 */
export async function linked() {
  if (!location.hash.startsWith(LINK)) return null;
  const letters = location.hash.slice(LINK.length).replaceAll("-", "+").replaceAll("_", "/");
  history.replaceState(null, "", location.pathname);
  const arrangement = await unpacked(letters).catch(() => null);
  if (!arrangement) throw new Error("a part of it is missing");
  return arrangement;
}

/** @param {string} letters */
async function unpacked(letters) {
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  return parsed(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw"))));
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {CompressionStream | DecompressionStream} stream
 */
async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** @returns {Record<string, Arrangement>} */
function all() {
  return json(localStorage.getItem(NAMED)) ?? {};
}

/** @param {string | null} text */
function parsed(text) {
  const content = json(text);
  return isArrangement(content) ? content : null;
}

/**
 * @param {string | null} text
 * @returns {any} null also if it is no JSON
 */
function json(text) {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {any} content
 * @returns {content is Arrangement}
 */
function isArrangement(content) {
  const { layout, panels } = content?.workspace ?? {};
  return (
    isObject(panels) && Object.keys(panels).length > 0 && Object.values(panels).every(isObject) && isObject(layout)
  );
}

/** @param {unknown} content */
function isObject(content) {
  return typeof content === "object" && content !== null;
}
