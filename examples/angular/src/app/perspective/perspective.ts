/** Perspective from the Turnout server itself, so that client and server match. It is loaded once, when it is needed. */

/** A client of the tables behind a socket. */
export interface Client {
  handle_response(message: ArrayBuffer): Promise<void>;
  handle_error(reason: string): Promise<void>;
  get_hosted_table_names(): Promise<string[]>;
}

export interface ClientClass {
  new (send: (message: Uint8Array) => Promise<void>, close: () => void): Client;
}

/** The element `<perspective-viewer>`. */
export interface Viewer extends HTMLElement {
  load(client: Client): Promise<void>;
  eject(): Promise<void>;
  save(): Promise<object>;
  restore(config: object): Promise<void>;
}

// Of the server's Python wheel.
const STYLES = "/assets/perspective-anywidget.css";
const MODULE = "/assets/perspective-anywidget.js";

/** Resolves once the element is defined. */
export async function perspective(): Promise<ClientClass> {
  if (!document.querySelector(`link[href="${STYLES}"]`)) {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: STYLES }));
  }
  const module = await import(/* @vite-ignore */ MODULE);
  await module.ready;
  const element = customElements.get("perspective-viewer") as unknown as { __wasm_module__: { Client: ClientClass } };
  return element.__wasm_module__.Client;
}
