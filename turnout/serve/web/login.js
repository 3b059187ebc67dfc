// @ts-check
// Who is logged in, and the way back to the login when nobody is any more.

import { one } from "./dom.js";

/** @typedef {{name: string, role: string, maySwitch: boolean, loggedIn: boolean}} User loggedIn: people are asked */

/** Who logs out is on the way to the login already, when the sockets are cut for it. */
let leaving = false;

/**
 * @param {HTMLElement} place
 * @param {User} user
 */
export function showUser(place, user) {
  place.hidden = !user.loggedIn;
  place.addEventListener("submit", () => {
    leaving = true;
  });
  one(place, "span", HTMLElement).textContent = `${user.name} (${user.role})`;
}

/** To the login, and from there back to where we are. */
export function toLogin() {
  const here = location.pathname + location.search + location.hash;
  location.assign(`/login?next=${encodeURIComponent(here)}`);
}

/** A socket does not say why it was refused: ask, and leave if the login has ended. */
export async function leaveIfLoggedOut() {
  const answer = await fetch("/page.json").catch(() => null); // no answer at all says nothing about logins
  if (answer?.status === 401 && !leaving) toLogin();
}
