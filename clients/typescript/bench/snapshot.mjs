// How long the first rows of a table take, and how long they keep everything else waiting:
// `npm run bench -- http://127.0.0.1:8400 final_ui`.

import { Turnout } from "../dist/index.js";

const [url = "http://127.0.0.1:8400", name = "final_ui"] = process.argv.slice(2);

/** Takes turns with everything else, and notes the longest that it had to wait. */
function longestWait() {
  let last = performance.now();
  let longest = 0;
  let ended = false;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!ended) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    ended = true;
    return longest;
  };
}

for (const integers of ["number", "bigint"]) {
  for (let run = 1; run <= 4; run++) {
    const table = new Turnout(url, { integers }).table(name);
    const wait = longestWait();
    const began = performance.now();
    for await (const rows of table) {
      const took = performance.now() - began;
      await new Promise(setImmediate);
      console.debug(
        `${integers}, run ${run}: ${rows.length} rows in ${took.toFixed(0)} ms, longest wait ${wait().toFixed(1)} ms`,
      );
      break;
    }
  }
}

const text = await (await fetch(`${url}/api/tables/${name}`)).text();
const began = performance.now();
JSON.parse(text);
console.debug(
  `JSON.parse of the same in one: ${(performance.now() - began).toFixed(0)} ms, ${(text.length / 1e6).toFixed(1)} MB`,
);
