// @ts-check
// The newest rows of a table, for those parts of the page that are no panel. They come through the panels' session, so
// a lost connection is none of their business.

/** @import { Client } from "./perspective.js" */

export const NEWEST = 500;

/**
 * Call `tell` with the newest rows, the newest first, now and whenever they change.
 * @template Row
 * @param {Client} client
 * @param {string} name
 * @param {string[]} columns
 * @param {(rows: Row[]) => void} tell
 */
export async function follow(client, name, columns, tell) {
  const table = await client.open_table(name);
  const sort = [
    ["ts", "desc"],
    ["_row", "desc"],
  ];
  const view = await table.view({ columns: ["_row", ...columns], sort });
  let reading = false;
  let again = false;
  const look = async () => {
    again = true;
    if (reading) return; // one at a time, and the last one sees all
    reading = true;
    while (again) {
      again = false;
      tell(/** @type {Row[]} */ (await view.to_json({ start_row: 0, end_row: NEWEST })));
    }
    reading = false;
  };
  await view.on_update(look);
  await look();
}
