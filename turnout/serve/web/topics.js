// @ts-check
// A field for a topic: type its name, or pick one of those on the broker.

import { made, one } from "./dom.js";
import { age, rate } from "./words.js";

/** @typedef {{name: string, partitions: number, messages: number | null, messagesPerSecond: number | null, newestAt: string | null}} Topic */

export class TopicField {
  #input;
  #list;
  /** @type {Topic[]} */
  #topics = [];

  /**
   * @param {HTMLElement} root
   * @param {() => void} changed
   */
  constructor(root, changed) {
    this.#input = one(root, "input", HTMLInputElement);
    this.#list = one(root, "select", HTMLSelectElement);
    this.#input.addEventListener("input", () => {
      this.#draw();
      changed();
    });
    this.#list.addEventListener("change", () => {
      this.#input.value = this.#list.value;
      changed();
    });
  }

  get value() {
    return this.#input.value.trim();
  }

  set value(name) {
    this.#input.value = name;
    this.#draw();
  }

  /** @param {Topic[]} topics */
  offer(topics) {
    this.#topics = topics;
    this.#draw();
  }

  /** Those that fit what is typed; all of them while that is one of them. */
  #draw() {
    const typed = this.value.toLowerCase();
    const exact = this.#topics.some(({ name }) => name === this.value);
    const fitting = exact ? this.#topics : this.#topics.filter(({ name }) => name.toLowerCase().includes(typed));
    this.#list.replaceChildren(...fitting.map((topic) => made("option", { value: topic.name }, described(topic))));
    this.#list.value = exact ? this.value : "";
  }
}

/** @param {Topic} topic */
function described({ name, messages, messagesPerSecond, newestAt }) {
  const facts = [];
  if (messages === 0) facts.push("empty");
  else if (messagesPerSecond !== null) facts.push(rate(messagesPerSecond));
  if (newestAt !== null) facts.push(`newest ${age(Math.max(0, Date.now() - Date.parse(newestAt)))}`);
  return [name, ...facts].join("  ·  ");
}
