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
 * Show another of the page's shapes.
 * @param {ParentNode} root
 * @param {string} id
 */
export function shape(root, id) {
  one(root, "svg use", SVGUseElement).setAttribute("href", `#${id}`);
}
