// Which part of the page is shown, by the fragment of its address: a thread, the inbox, or a new instruction.
import { computed, signal } from "@preact/signals";

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  fragment.value = location.hash;
});

export type Place = { kind: "new" } | { kind: "inbox" } | { kind: "thread"; id: string };

export const place = computed<Place>(() => {
  const [, part, id] = fragment.value.split("/");
  if (part === "inbox") return { kind: "inbox" };
  return part === "thread" && id ? { kind: "thread", id: decodeURIComponent(id) } : { kind: "new" };
});

export function addressOf(id: string): string {
  return `#/thread/${encodeURIComponent(id)}`;
}

export function go(address: string): void {
  location.hash = address;
  fragment.value = location.hash;
}
