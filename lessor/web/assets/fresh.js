// Keeps pages current: asks for the same page again and puts in what has changed. Without it a page stays as it was.

const EVERY = 10_000;
const here = new URL(location.href);

function put(old, found) {
  // What somebody uses or has opened is not taken away from under them.
  if (old.contains(document.activeElement)) return;
  for (const opened of old.querySelectorAll("details[open]")) {
    const same = found.querySelector(`details#${CSS.escape(opened.id)}`);
    if (same) same.open = true;
  }
  if (old.outerHTML === found.outerHTML) return;
  old.replaceWith(document.importNode(found, true));
}

async function refresh() {
  const answer = await fetch(here, { headers: { accept: "text/html" }, redirect: "manual" });
  if (answer.type === "opaqueredirect") return location.reload();
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  readersTimes(page);
  for (const found of page.querySelectorAll("[data-fresh]")) {
    const old = document.getElementById(found.id);
    if (old) put(old, found);
  }
}

/* Times are on the organisation's clock; what they are on the reader's own is told where somebody points. */
function readersTimes(page) {
  for (const time of page.querySelectorAll("time[datetime]:not([title])")) {
    time.title = `${new Date(time.dateTime).toLocaleString()} on your clock`;
  }
}

async function keepFresh() {
  if (!document.hidden) {
    try {
      await refresh();
      document.getElementById("offline").hidden = true;
    } catch {
      document.getElementById("offline").hidden = false;
    }
  }
  setTimeout(keepFresh, EVERY);
}

readersTimes(document);
if (document.querySelector("[data-fresh]:not(#as-of)")) setTimeout(keepFresh, EVERY);
