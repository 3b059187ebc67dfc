// @ts-check

/**
 * The one element that a selector names.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function one(root, selector, type) {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

/**
 * An element with its attributes and what is in it.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} content
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function made(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

/**
 * One of the page's shapes.
 * @param {string} id
 */
export function drawn(id) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "use"));
  svg.firstElementChild?.setAttribute("href", `#${id}`);
  return svg;
}

/**
 * Show another of the page's shapes.
 * @param {ParentNode} root
 * @param {string} id
 */
export function shape(root, id) {
  one(root, "svg use", SVGUseElement).setAttribute("href", `#${id}`);
}

/**
 * The clipboard is open to pages from this machine or over HTTPS only; elsewhere a selected field has to do.
 * @param {string} text
 */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = made("textarea", { "aria-hidden": "true" }, text);
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
