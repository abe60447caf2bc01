// A long list, of which only a part is drawn until the rest is asked for.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

const MOST = 50;

export interface Part<T> {
  shown: T[];
  /** The place of the first shown item in the whole list. */
  start: number;
  /** The button that draws more, where there is more. */
  more: ComponentChildren;
}

/** Return the last items of a list, or the first, and the button for more of them. */
export function useFew<T>(items: T[], noun: string, end: "first" | "last"): Part<T> {
  const most = useSignal(MOST);
  const left = items.length - most.value;
  if (left <= 0) return { shown: items, start: 0, more: null };
  const more = (
    <button type="button" class="quiet" onClick={() => (most.value *= 4)}>
      Show more {noun}; {left.toLocaleString("en")} are left
    </button>
  );
  if (end === "last") return { shown: items.slice(-most.value), start: left, more };
  return { shown: items.slice(0, most.value), start: 0, more };
}
