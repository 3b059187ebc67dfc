// @ts-check
// The panels: which table is where at first, and how they come back after a lost connection.

/** @import { About, TableKey } from "./about.js" */
/** @import { Client, Viewer, Workspace } from "./perspective.js" */
/** @typedef {{workspace: Workspace, active: string}} Arrangement */

const NEWEST_FIRST = [
  ["ts", "desc"],
  ["_row", "desc"],
];

export class Panels {
  #viewer;
  #about;
  #dark = matchMedia("(prefers-color-scheme: dark)");
  /** @type {Arrangement} */
  #kept;
  #loaded = false;
  #shown = false;

  /**
   * @param {Viewer} viewer
   * @param {About} about
   */
  constructor(viewer, about) {
    this.#viewer = viewer;
    this.#about = about;
    this.#kept = { workspace: this.#initial(), active: "joined" };
    viewer.setAttribute("theme", this.#theme());
    this.#dark.addEventListener("change", () => this.#repaint());
  }

  /**
   * Show the tables of this client: as they were, or as at first.
   * @param {Client} client
   */
  async show(client) {
    const viewer = this.#viewer;
    if (this.#loaded) await viewer.eject();
    this.#loaded = true;
    await viewer.load(client);
    await this.#arrange(this.#kept);
    this.#shown = true;
  }

  /** Keep what people have made of the panels, which needs no connection. What was never shown is not worth keeping. */
  async keep() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#kept = await this.#arrangement();
  }

  /** @returns {Promise<Arrangement>} */
  async #arrangement() {
    const active = this.#viewer.getActivePanel() ?? this.#kept.active;
    return { workspace: await this.#viewer.saveWorkspace(), active };
  }

  /** @param {Arrangement} arrangement */
  async #arrange({ workspace, active }) {
    await this.#viewer.restoreWorkspace(workspace);
    this.#viewer.setActivePanel(active);
  }

  /** Panels read a theme's colours when they are made: another theme makes them anew, as they are. */
  async #repaint() {
    const theme = this.#theme();
    const arrangement = this.#shown ? await this.#arrangement() : this.#kept;
    for (const panel of Object.values(arrangement.workspace.panels)) panel.theme = theme;
    this.#viewer.setAttribute("theme", theme);
    if (this.#shown) await this.#arrange(arrangement);
  }

  #theme() {
    return this.#dark.matches ? "Pro Dark" : "Pro Light";
  }

  #initial() {
    const { tables, columns } = this.#about;
    const theme = this.#theme();
    /** @param {TableKey} key */
    const panel = (key, more = {}) => {
      const name = tables[key];
      return [key, { table: name, title: name, columns: columns[key], theme, ...more }]; // all columns but the row's id
    };
    const panels = Object.fromEntries([
      panel("joined"),
      panel("left"),
      panel("right"),
      panel("logs", { sort: NEWEST_FIRST }),
      panel("control", { sort: NEWEST_FIRST }),
      panel("rejected", { sort: NEWEST_FIRST }),
      panel("status"),
    ]);
    const sides = split("vertical", [0.5, 0.5], tabs("left"), tabs("right"));
    const data = split("horizontal", [0.62, 0.38], tabs("joined"), sides);
    const layout = split("vertical", [0.68, 0.32], data, tabs("logs", "control", "rejected", "status"));
    return { panels, layout };
  }
}

/**
 * @param {"horizontal" | "vertical"} orientation
 * @param {number[]} sizes
 * @param {object[]} children
 */
function split(orientation, sizes, ...children) {
  return { type: "split-layout", orientation, sizes, children };
}

/** @param {TableKey[]} keys */
function tabs(...keys) {
  return { type: "tab-layout", tabs: keys, selected: 0 };
}
