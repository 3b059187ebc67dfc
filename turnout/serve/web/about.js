// @ts-check
// What the server says about its configuration: nothing here knows what the tables are called.

import { toLogin } from "./login.js";

/** @import { User } from "./login.js" */
/** @typedef {"left" | "right" | "joined" | "control" | "status" | "logs" | "rejected"} TableKey */

/**
 * @typedef {object} About
 * @property {string} version
 * @property {string} fingerprint of all that is here but the user
 * @property {User} user who is logged in
 * @property {Record<TableKey, string>} tables the tables' public names
 * @property {Record<TableKey, Record<string, string>>} columns their columns, in order, with their types
 * @property {string} key the column that both sides share
 * @property {{left: string, right: string, join: string}} fields the fields of a control message
 */

/** @returns {Promise<About>} */
export async function about() {
  const answer = await fetch("/page.json");
  if (answer.status === 401) toLogin();
  if (!answer.ok) throw new Error(`/page.json answered ${answer.status}`);
  return answer.json();
}
