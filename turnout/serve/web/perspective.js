// @ts-check
// Perspective, as its Python wheel ships it. The file's name and `__wasm_module__` are internals of the version that
// the product pins (5.6.1); no other module knows them.

/**
 * A client of the Perspective server behind a socket.
 * @typedef {object} Client
 * @property {(message: ArrayBuffer) => Promise<void>} handle_response
 * @property {() => Promise<string[]>} get_hosted_table_names
 * @property {(name: string) => Promise<Table>} open_table
 */

/** @typedef {{view: (config: object) => Promise<View>}} Table */

/**
 * @typedef {object} View
 * @property {(changed: () => void) => Promise<number>} on_update
 * @property {(window: {start_row: number, end_row: number}) => Promise<Record<string, any>[]>} to_json
 */

/** @typedef {new (send: (message: Uint8Array<ArrayBuffer>) => Promise<void>, close: () => void) => Client} ClientClass */

/**
 * What a panel shows, as far as the page looks at it.
 * @typedef {object} Panel
 * @property {string} [theme]
 * @property {string} [table]
 * @property {string | null} [title]
 * @property {(string | null)[]} [columns]
 * @property {string[]} [group_by]
 * @property {string[]} [split_by]
 * @property {string[][]} [sort]
 * @property {any[][]} [filter]
 * @property {Record<string, string>} [expressions]
 */

/** @typedef {{layout: object, panels: Record<string, Panel>}} Workspace all panels, and where */

/**
 * @typedef {object} Methods
 * @property {(client: Client) => Promise<void>} load
 * @property {(which: {panel: string}) => Promise<Panel>} save
 * @property {(config: object, which: {panel: string}) => Promise<void>} restore
 * @property {() => Promise<Workspace>} saveWorkspace
 * @property {(workspace: Workspace) => Promise<void>} restoreWorkspace
 * @property {(panel: object) => Promise<string>} addPanel
 * @property {(panel: string) => Promise<void>} removePanel
 * @property {() => string | null | undefined} getActivePanel
 * @property {(panel: string) => void} setActivePanel
 */

/** @typedef {HTMLElement & Methods} Viewer the element `<perspective-viewer>` */

/** @returns {Promise<ClientClass>} once the element is defined and its WebAssembly is compiled */
export async function ready() {
  // @ts-expect-error: it has no types
  const module = await import("/assets/perspective-anywidget.js");
  await module.ready;
  const element = /** @type {any} */ (customElements.get("perspective-viewer"));
  return element.__wasm_module__.Client;
}
