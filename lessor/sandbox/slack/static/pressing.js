// Whether a button of the mouse, a finger or a pen is held down on the page.

let press = null;

// The click comes right after the release: it goes first.
const letGo = () => setTimeout(() => {
  press?.end();
  press = null;
});

addEventListener("pointerdown", () => {
  if (press) return;
  let end;
  press = { over: new Promise((done) => (end = done)), end };
}, true);
addEventListener("pointerup", letGo, true);
addEventListener("pointercancel", letGo, true);
addEventListener("blur", letGo);

// What is replaced between a press and its release takes the click with it.
export async function released() {
  while (press) await press.over;
}
