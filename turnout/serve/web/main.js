// @ts-check

import { about as ask } from "./about.js";
import { Connection } from "./connection.js";
import { one } from "./dom.js";
import { Drawer } from "./drawer.js";
import { follow } from "./feed.js";
import { Header } from "./header.js";
import { LayoutMenu } from "./layout_menu.js";
import { showUser } from "./login.js";
import { Notices } from "./notices.js";
import { Panels } from "./panels.js";
import { ready } from "./perspective.js";
import { Session } from "./session.js";
import { SwitchDialog } from "./switching.js";

/** @import { Line, Rejected } from "./drawer.js" */

async function start() {
  const compiled = ready(); // takes longest, so it begins first
  const about = await ask();
  const header = new Header(one(document, "header", HTMLElement), about);
  const dialog = new SwitchDialog(about);
  const drawer = new Drawer(about);
  const notices = new Notices(one(document, "#notice", HTMLElement), about, () => dialog.undo());
  const session = new Session(() => location.reload());
  new Connection(
    session,
    about.fingerprint,
    (state) => {
      header.connection(state);
      notices.connection(state);
    },
    (vitals) => {
      header.show(vitals);
      notices.vitals(vitals);
      dialog.vitals(vitals);
    },
  );
  showUser(one(document, "#user", HTMLElement), about.user);
  for (const button of document.querySelectorAll("button[data-opens=switch]")) {
    button.addEventListener("click", () => dialog.open());
    button.toggleAttribute("disabled", !about.user.maySwitch);
    if (!about.user.maySwitch) button.setAttribute("title", "Only an operator may switch");
  }

  const viewer = /** @type {import("./perspective.js").Viewer} */ (one(document, "perspective-viewer", HTMLElement));
  const panels = new Panels(viewer, about);
  const client = session.begin(await compiled);
  await client.get_hosted_table_names(); // the viewer does not begin well with a client that was never answered
  await panels.load(client);
  await new LayoutMenu(panels, about, (text) => notices.tell(text)).begin();
  document.body.dataset.panels = "shown";

  const { logs, rejected } = about.tables;
  await follow(client, logs, Object.keys(about.columns.logs), (/** @type {Line[]} */ lines) => {
    drawer.log(lines);
    dialog.log(lines);
  });
  await follow(client, rejected, Object.keys(about.columns.rejected), (/** @type {Rejected[]} */ records) =>
    drawer.rejected(records),
  );
}

start().catch((error) => {
  const notice = one(document, "#notice", HTMLElement);
  notice.hidden = false;
  notice.dataset.kind = "refused";
  notice.textContent = `The page cannot start: ${error.message}. It tries again in a few seconds.`;
  setTimeout(() => location.reload(), 5000);
});
