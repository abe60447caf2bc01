// Where two JSON values differ, as a list of places.
import { isRawNumber } from "./exact";
import { pointerTo } from "./pointer";

export interface Difference {
  /** The JSON pointer of the place. */
  pointer: string;
  /** What was there before; undefined if there was nothing. */
  before?: unknown;
  /** What is there now; undefined if nothing is. */
  after?: unknown;
}

type Keyed = Record<string, unknown>;

/** Return the places where `after` differs from `before`, the outermost of those that only one of the two has. */
export function differences(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (before === after) return [];
  const isOpen = isKeyed(before) && isKeyed(after) && Array.isArray(before) === Array.isArray(after);
  if (!isOpen) return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ pointer, before, after }];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => differences(before[name], after[name], pointerTo(pointer, name)));
}

/** Return the keys of two states whose values differ. */
export function changedKeys(before: Keyed, after: Keyed): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => before[name] !== after[name] && JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

function isKeyed(value: unknown): value is Keyed {
  return typeof value === "object" && value !== null && !isRawNumber(value);
}
