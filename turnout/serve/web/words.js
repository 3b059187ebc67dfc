// @ts-check
// Numbers and moments as people read them.

/** @param {number} ms */
export function duration(ms) {
  if (ms < 950) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 119.5) return `${Math.round(seconds)} s`;
  if (seconds < 119.5 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/**
 * How long ago, in steps that do not flicker: what is younger than a second is now.
 * @param {number} ms
 */
export function age(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds === 0) return "now";
  return seconds < 10 ? `${seconds} s ago` : `${duration(seconds * 1000)} ago`;
}

/** @param {number} perSecond */
export function rate(perSecond) {
  if (perSecond === 0) return "0 /s";
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))} /s`;
}

/** @param {number} number */
export function count(number) {
  return number.toLocaleString("en");
}

/**
 * A moment of today by its time, another with its date.
 * @param {string} iso
 */
export function moment(iso) {
  const when = new Date(iso);
  const today = when.toDateString() === new Date().toDateString();
  return when.toLocaleString([], { dateStyle: today ? undefined : "medium", timeStyle: "medium" });
}
