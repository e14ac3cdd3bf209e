// Times as the person looking sees them: in the time zone of their profile, not of this browser.

function parts(seconds, zone) {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
  });
  return Object.fromEntries(format.formatToParts(new Date(seconds * 1000)).map((part) => [part.type, part.value]));
}

export function toLocalInput(seconds, zone) {
  if (!seconds) return "";
  const p = parts(seconds, zone);
  return `${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}`;
}

// Seconds since the epoch of a wall-clock time in a zone; two rounds settle times near a clock change.
export function fromLocalInput(text, zone) {
  if (!text) return null;
  const wall = Date.parse(`${text}:00Z`) / 1000;
  let guess = wall;
  for (let round = 0; round < 2; round += 1) {
    const p = parts(guess, zone);
    guess += wall - Date.parse(`${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}:00Z`) / 1000;
  }
  return guess;
}

const show = (seconds, zone, options) =>
  new Intl.DateTimeFormat("en-US", { timeZone: zone, ...options }).format(new Date(seconds * 1000));

export const clockTime = (seconds, zone) => show(seconds, zone, { hour: "numeric", minute: "2-digit" });
export const zoneName = (seconds, zone) =>
  new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "short" })
    .formatToParts(new Date(seconds * 1000)).find((part) => part.type === "timeZoneName").value;
export const dayName = (seconds, zone) => pretty(seconds, zone, { weekday: "long", month: "long", day: "numeric" });
export const full = (seconds, zone) => show(seconds, zone, { dateStyle: "full", timeStyle: "long" });

export function pretty(seconds, zone, options) {
  const day = (at) => show(at, zone, { year: "numeric", month: "2-digit", day: "2-digit" });
  const now = Date.now() / 1000;
  if (day(seconds) === day(now)) return "Today";
  if (day(seconds) === day(now - 86400)) return "Yesterday";
  if (day(seconds) === day(now + 86400)) return "Tomorrow";
  return show(seconds, zone, options);
}

function ago(seconds) {
  const distance = Math.round(seconds - Date.now() / 1000);
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]])
    if (Math.abs(distance) >= length) return format.format(Math.round(distance / length), unit);
  return format.format(distance, "second");
}

const LONG = { weekday: "long", month: "long", day: "numeric", year: "numeric" };
const MEDIUM = { month: "long", day: "numeric", year: "numeric" };
const SHORT = { month: "short", day: "numeric", year: "numeric" };
const TOKENS = {
  "{date_num}": (s, z) => toLocalInput(s, z).slice(0, 10),
  "{date_slash}": (s, z) => show(s, z, { year: "numeric", month: "2-digit", day: "2-digit" }),
  "{date_long}": (s, z) => show(s, z, LONG),
  "{date_long_pretty}": (s, z) => pretty(s, z, LONG),
  "{date_long_full}": (s, z) => show(s, z, LONG),
  "{date}": (s, z) => show(s, z, MEDIUM),
  "{date_pretty}": (s, z) => pretty(s, z, MEDIUM),
  "{date_short}": (s, z) => show(s, z, SHORT),
  "{date_short_pretty}": (s, z) => pretty(s, z, SHORT),
  "{time}": clockTime,
  "{time_secs}": (s, z) => show(s, z, { hour: "numeric", minute: "2-digit", second: "2-digit" }),
  "{ago}": (s) => ago(s),
};

export function formatted(seconds, format, zone) {
  return format.replace(/\{[a-z_]+\}/g, (token) => (TOKENS[token] ? TOKENS[token](seconds, zone) : token));
}
