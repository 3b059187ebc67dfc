// @ts-check

import { about as ask } from "./about.js";
import { stayConnected } from "./connection.js";
import { ControlForm } from "./control.js";
import { one, shape } from "./dom.js";
import { Panels } from "./panels.js";
import { ready } from "./perspective.js";
import { follow, show } from "./status.js";

/** @import { State } from "./connection.js" */

const CONNECTION = {
  connecting: { mark: "shape-busy", text: "connecting…", notice: "" },
  connected: { mark: "shape-live", text: "connected", notice: "" },
  lost: {
    mark: "shape-busy",
    text: "reconnecting…",
    notice: "Connection lost, reconnecting… The tables show what was known last.",
  },
};

/** @param {State} state */
function tell(state) {
  const place = one(document, "#connection", HTMLElement);
  const { mark, text, notice } = CONNECTION[state];
  document.body.dataset.connection = state;
  place.dataset.state = state;
  one(place, "span", HTMLElement).textContent = text;
  shape(place, mark);
  showNotice(notice);
}

/** @param {string} text */
function showNotice(text) {
  const notice = one(document, "#notice", HTMLElement);
  notice.textContent = text;
  notice.hidden = text === "";
}

async function start() {
  const about = await ask();
  const form = new ControlForm(one(document, "#control", HTMLFormElement), about);
  const line = one(document, "#status", HTMLElement);
  follow(about, (row) => {
    show(line, about, row);
    form.showCurrent(row);
  });
  const Client = await ready();
  const viewer = /** @type {import("./perspective.js").Viewer} */ (one(document, "perspective-viewer", HTMLElement));
  await stayConnected(Client, new Panels(viewer, about), tell);
}

start().catch((error) => showNotice(`The page cannot start: ${error.message}. Reload it to try again.`));
