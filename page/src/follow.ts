// Reads something again whenever the open thread may have changed, while a view of the page wants it.
import { effect } from "@preact/signals";

import { returns } from "./connection";
import { questions, runId, stepCount, threadId } from "./conversation";
import { place, type View } from "./place";

/** A checkpoint may be saved a moment after its step is told of. */
const LATER_MS = 400;

/** Call `read` with the thread when one of the views is open and whenever its thread goes on; `clear` for another one. */
export function followThread(views: View[], read: (id: string) => Promise<void>, clear: () => void): void {
  let owner: string | null = null;
  let isReading = false;
  let isAgain = false;
  const readOnce = async (id: string) => {
    isAgain = isReading;
    if (isReading) return;
    isReading = true;
    await read(id);
    isReading = false;
    const now = threadId.peek();
    if (now !== null && (isAgain || now !== id)) void readOnce(now);
  };
  effect(() => {
    const id = threadId.value;
    const here = place.value;
    if (id !== owner) clear();
    owner = id;
    // Whatever of these changes, there may be something new.
    void [runId.value, stepCount.value, questions.value, returns.value];
    if (id === null || here.kind !== "thread" || !views.includes(here.view)) return;
    void readOnce(id);
    const later = setTimeout(() => void readOnce(id), LATER_MS);
    return () => clearTimeout(later);
  });
}
