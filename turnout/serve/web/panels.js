// @ts-check
// The panels: which there are at first, and how they are arranged.

/** @import { About, TableKey } from "./about.js" */
/** @import { Client, Viewer, Workspace } from "./perspective.js" */
/** @import { Panel } from "./perspective.js" */
/** @typedef {{workspace: Workspace, active?: string}} Arrangement */

const NEWEST_FIRST = [
  ["ts", "desc"],
  ["_row", "desc"],
];

/** What every table has for itself; and those with rows that Turnout makes, in which a row's id tells its age. */
const OWN = ["_place"];
const OF_TURNOUT = ["control", "status", "logs", "rejected"];
const OWN_OF_TURNOUT = [...OWN, "_row"];

export class Panels {
  #viewer;
  #about;
  #dark = matchMedia("(prefers-color-scheme: dark)");

  /**
   * @param {Viewer} viewer
   * @param {About} about
   */
  constructor(viewer, about) {
    this.#viewer = viewer;
    this.#about = about;
    viewer.setAttribute("theme", this.#theme());
    this.#dark.addEventListener("change", async () => this.arrange(await this.arrangement()));
  }

  /** @param {Client} client */
  async load(client) {
    await this.#viewer.load(client);
  }

  /** @returns {Promise<Arrangement>} */
  async arrangement() {
    return { workspace: await this.#viewer.saveWorkspace(), active: this.active };
  }

  /**
   * Panels read a theme's colours when they are made, so an arrangement takes the theme of now. Throws, and leaves all
   * as it was, if it asks for what this server does not have.
   * @param {Arrangement} arrangement
   */
  async arrange({ workspace, active }) {
    for (const panel of Object.values(workspace.panels)) this.#check(panel);
    const theme = this.#theme();
    for (const panel of Object.values(workspace.panels)) panel.theme = theme;
    this.#viewer.setAttribute("theme", theme);
    await this.#viewer.restoreWorkspace(workspace);
    if (active !== undefined && active in workspace.panels) this.#viewer.setActivePanel(active);
  }

  /** @param {TableKey} key */
  async add(key) {
    const panel = await this.#viewer.addPanel({ ...this.#panel(key), theme: this.#theme() });
    this.#viewer.setActivePanel(panel);
  }

  /** @returns {string | undefined} the panel that is active, if there is any */
  get active() {
    return this.#viewer.getActivePanel() ?? undefined;
  }

  /** @param {string} panel */
  async title(panel) {
    const { title, table } = await this.#viewer.save({ panel });
    return title || table || "";
  }

  /**
   * @param {string} panel
   * @param {string} title
   */
  async rename(panel, title) {
    await this.#viewer.restore({ title }, { panel });
  }

  /** @param {string} panel */
  async close(panel) {
    await this.#viewer.removePanel(panel);
  }

  /**
   * Call `tell` when somebody may have changed something.
   * @param {() => void} tell
   */
  onChange(tell) {
    for (const event of ["perspective-config-update", "perspective-layout-update", "pointerup", "keyup"]) {
      this.#viewer.addEventListener(event, tell);
    }
  }

  /**
   * The first rows wait for every panel, so there are no more than a newcomer looks at; the other tables are a click
   * away. The viewer asks for them in the order of their ids: the rows before their totals.
   * @returns {Arrangement} the one that a newcomer sees
   */
  initial() {
    const totals = this.#totals();
    const data = totals ? split("horizontal", [0.64, 0.36], tabs("joined"), tabs("totals")) : tabs("joined");
    const below = split("horizontal", [0.5, 0.5], tabs("logs"), tabs("status"));
    const layout = split("vertical", [0.72, 0.28], data, below);
    /** @type {TableKey[]} */
    const keys = ["joined", "logs", "status"];
    const panels = Object.fromEntries(keys.map((key) => [key, this.#panel(key)]));
    return { workspace: { layout, panels: totals ? { ...panels, totals } : panels }, active: "joined" };
  }

  /** @param {Panel} panel */
  #check({ table, columns = [], group_by = [], split_by = [], sort = [], filter = [], expressions = {} }) {
    const { tables, columns: known } = this.#about;
    const key = /** @type {TableKey[]} */ (Object.keys(tables)).find((each) => tables[each] === table);
    if (!key) throw new Error(`there is no table ${table}`);
    const own = OF_TURNOUT.includes(key) ? OWN_OF_TURNOUT : OWN;
    const used = [...columns, ...group_by, ...split_by, ...[...sort, ...filter].map(([column]) => column)];
    const missing = used.find(
      (column) => column !== null && !own.includes(column) && !(column in known[key]) && !(column in expressions),
    );
    if (missing !== undefined) throw new Error(`table ${table} has no column ${missing}`);
  }

  #theme() {
    return this.#dark.matches ? "Pro Dark" : "Pro Light";
  }

  /** @param {TableKey} key */
  #panel(key) {
    const table = this.#about.tables[key];
    const columns = Object.keys(this.#about.columns[key]); // all but those that it has for itself
    const isDated = columns.includes("ts") && OF_TURNOUT.includes(key);
    return { table, title: table, columns, sort: isDated ? NEWEST_FIRST : [] };
  }

  /** The sum of the first amount by the first text of the same side: with the default tables, balance by account type. */
  #totals() {
    const { columns, tables, key } = this.#about;
    for (const side of /** @type {TableKey[]} */ (["right", "left"])) {
      const others = Object.entries(columns[side]).filter(([name]) => name !== key);
      const [text] = others.find(([, type]) => type === "string") ?? [];
      const [amount] = others.find(([, type]) => type === "double") ?? [];
      if (text && amount) {
        return {
          table: tables.joined,
          title: `${amount} by ${text}`,
          plugin: "Y Bar",
          group_by: [text],
          columns: [amount],
          aggregates: { [amount]: "sum" },
          filter: [[text, "is not null", null]],
          group_rollup_mode: "flat",
        };
      }
    }
    return null;
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

/** @param {(TableKey | "totals")[]} keys */
function tabs(...keys) {
  return { type: "tab-layout", tabs: keys, selected: 0 };
}
