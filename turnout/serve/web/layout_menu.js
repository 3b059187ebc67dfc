// @ts-check
// The menus over the panels: another panel, and what to do with the layout.

import { copy, made, one } from "./dom.js";
import { exported, imported, keep, link, linked, named, names, remember, remembered, setAside } from "./layouts.js";

/** @import { About, TableKey } from "./about.js" */
/** @import { Arrangement, Panels } from "./panels.js" */

const SETTLED_MS = 400;

export class LayoutMenu {
  #panels;
  #say;
  #menu = one(document, "#layouts", HTMLElement);
  #present = "";
  #later = 0;

  /**
   * @param {Panels} panels
   * @param {About} about
   * @param {(text: string) => void} say
   */
  constructor(panels, about, say) {
    this.#panels = panels;
    this.#say = say;
    const add = one(document, "#add", HTMLElement);
    for (const [key, name] of Object.entries(about.tables)) {
      add.append(this.#item(name, () => panels.add(/** @type {TableKey} */ (key))));
    }
    this.#menu.addEventListener("beforetoggle", (event) => {
      if (event.newState === "open") this.#fill(); // while it closes, the focus goes back from what is in it
    });
    for (const menu of [add, this.#menu]) behave(menu);
    const file = one(document, "#layout-file", HTMLInputElement);
    file.addEventListener("change", () => this.#import(file));
  }

  /** Show the layout that the address names, or the one that was left, or the first one. */
  async begin() {
    (await this.#showLinked()) ||
      (await this.#showRemembered()) ||
      (await this.#panels.arrange(this.#panels.initial()));
    this.#panels.onChange(() => this.#soon());
    addEventListener("pagehide", () => this.#remember());
    addEventListener("hashchange", async () => {
      if (await this.#showLinked()) await this.#remember(); // a link that is put into the address of the open page
    });
    this.#soon();
  }

  /** What the visitor had is set aside: a link takes nothing away. */
  async #showLinked() {
    try {
      const shared = await linked();
      if (!shared) return false;
      await this.#panels.arrange(shared);
    } catch (error) {
      this.#say(`The layout of the link cannot be shown: ${said(error)}.`);
      return false;
    }
    const own = remembered();
    const kept = own ? ` Yours is kept under Layouts, as ${setAside(own)}.` : "";
    this.#say(`This is the layout of the link.${kept}`);
    return true;
  }

  async #showRemembered() {
    const own = remembered();
    if (!own) return false;
    try {
      await this.#panels.arrange(own);
    } catch (error) {
      this.#say(`Your layout does not fit this server: ${said(error)}. It is kept under Layouts, as ${setAside(own)}.`);
      return false;
    }
    return true;
  }

  #soon() {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#remember(), SETTLED_MS);
  }

  async #remember() {
    remember(await this.#panels.arrangement());
  }

  #fill() {
    const kept = names().map((name) =>
      made(
        "div",
        { class: "kept" },
        this.#item(name, () => this.#showKept(name)),
        this.#item("Delete", () => keep(name, null), `Delete the layout ${name}`),
      ),
    );
    this.#menu.replaceChildren(
      this.#item("Default", () => this.#show("", this.#panels.initial())),
      ...kept,
      ...this.#panelItems(this.#panels.active),
      made("hr"),
      this.#item("Save as…", () => this.#save()),
      this.#item("Copy link", () => this.#copyLink()),
      this.#item("Export", () => this.#export()),
      this.#item("Import…", () => one(document, "#layout-file", HTMLInputElement).click()),
    );
  }

  /** @param {string | undefined} panel the one that is active */
  #panelItems(panel) {
    if (panel === undefined) return [];
    return [
      made("hr"),
      this.#item("Rename panel…", () => this.#rename(panel)),
      this.#item("Close panel", () => this.#panels.close(panel)),
    ];
  }

  /**
   * @param {string} label
   * @param {() => void} run
   * @param {string} [title]
   */
  #item(label, run, title) {
    const button = made("button", { type: "button", ...(title && { title, "aria-label": title }) }, label);
    button.addEventListener("click", () => {
      /** @type {HTMLElement | null} */ (button.closest("[popover]"))?.hidePopover();
      run();
    });
    return button;
  }

  /**
   * @param {string} name
   * @param {Arrangement | null} arrangement
   */
  async #show(name, arrangement) {
    if (!arrangement) return;
    const before = await this.#panels.arrangement();
    try {
      await this.#panels.arrange(arrangement);
    } catch (error) {
      await this.#panels.arrange(before);
      throw error;
    }
    this.#present = name;
    await this.#remember();
  }

  /** @param {string} name */
  async #showKept(name) {
    try {
      await this.#show(name, named(name));
    } catch (error) {
      this.#say(`Layout ${name} does not fit this server: ${said(error)}.`);
    }
  }

  /** @param {string} panel */
  async #rename(panel) {
    const title = await ask("Title of the panel", await this.#panels.title(panel));
    if (title) await this.#panels.rename(panel, title);
  }

  async #save() {
    const name = await ask("Name of the layout", this.#present);
    if (!name) return;
    this.#present = name;
    keep(name, await this.#panels.arrangement());
    this.#say(`Layout ${name} is saved in this browser.`);
  }

  async #copyLink() {
    await copy(await link(await this.#panels.arrangement()));
    this.#say("A link to this layout is in the clipboard.");
  }

  async #export() {
    const name = this.#present || "layout";
    const file = new Blob([exported(name, await this.#panels.arrangement())], { type: "application/json" });
    const address = URL.createObjectURL(file);
    made("a", { href: address, download: `${name}.turnout.json` }).click();
    URL.revokeObjectURL(address);
  }

  /** @param {HTMLInputElement} input */
  async #import(input) {
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    try {
      const { name, arrangement } = imported(await file.text());
      await this.#show(name, arrangement);
      keep(name, arrangement);
      this.#say(`Layout ${name} is imported.`);
    } catch (error) {
      this.#say(`${file.name} cannot be imported: ${said(error)}.`);
    }
  }
}

/**
 * A menu opens below its button, and arrow keys go through it as Tab does.
 * @param {HTMLElement} menu
 */
function behave(menu) {
  const opener = one(document, `[popovertarget=${menu.id}]`, HTMLButtonElement);
  menu.addEventListener("beforetoggle", () => {
    const { right, bottom } = opener.getBoundingClientRect();
    menu.style.top = `${bottom + 4}px`;
    menu.style.right = `${document.documentElement.clientWidth - right}px`;
  });
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "open") menu.querySelector("button")?.focus();
  });
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const items = [...menu.querySelectorAll("button")];
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    items.at((at + step) % items.length)?.focus();
  });
}

/** @param {unknown} error */
function said(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Ask for a short text; null: never mind.
 * @param {string} question
 * @param {string} value
 * @returns {Promise<string | null>}
 */
function ask(question, value) {
  const dialog = one(document, "#ask", HTMLDialogElement);
  const input = one(dialog, "input", HTMLInputElement);
  one(dialog, "span", HTMLElement).textContent = question;
  input.value = value;
  dialog.returnValue = ""; // of the last time
  one(dialog, "button[type=button]", HTMLButtonElement).onclick = () => dialog.close();
  dialog.showModal();
  input.select();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "ok" ? input.value.trim() || null : null), {
      once: true,
    });
  });
}
