// The keys of a change that waits: its buttons name theirs in aria-keyshortcuts, and a key presses the one of the change
// that has the focus.
import { signal } from "@preact/signals";

/** Whether the keys are explained. */
export const isExplained = signal(false);

/** A key that comes so soon after another one belongs to a text that somebody types, whose field may be gone. */
const TYPED_MS = 500;
let last = 0;

addEventListener("keydown", (event) => {
  const isEscape = event.key === "Escape";
  if (event.key.length > 1 && !isEscape) return;
  const isTyped = event.timeStamp - last < TYPED_MS || event.repeat;
  last = event.timeStamp;
  const at = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || (!isEscape && (isTyped || at.closest("input, select, textarea")))) return;
  const here = at.closest<HTMLElement>("article.question");
  if (event.key === "?") isExplained.value = !isExplained.value;
  const button = here?.querySelector<HTMLElement>(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  if (button) button.click();
  // Nobody may have read the next change, so the first key only leads to it.
  else if (!isEscape && ["a", "n", "e", "r", "?"].includes(event.key)) document.querySelector<HTMLElement>("article.question:not(.decided)")?.focus();
  else return;
  event.preventDefault();
});
