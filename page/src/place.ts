// Which part of the page is shown, by the fragment of its address: a thread, the inbox, or a new instruction.
import { computed, signal } from "@preact/signals";

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  fragment.value = location.hash;
});

export const VIEWS = ["chat", "timeline", "wire", "program", "cost", "steer"] as const;
export type View = (typeof VIEWS)[number];
export type Place = { kind: "new" } | { kind: "inbox" } | { kind: "permissions" } | { kind: "thread"; id: string; view: View };

export const place = computed<Place>(() => {
  const [, part, id, name] = fragment.value.split("/");
  if (part === "inbox" || part === "permissions") return { kind: part };
  const view = VIEWS.find((known) => known === name) ?? "chat";
  return part === "thread" && id ? { kind: "thread", id: decodeURIComponent(id), view } : { kind: "new" };
});

export function addressOf(id: string, view: View = "chat"): string {
  return `#/thread/${encodeURIComponent(id)}${view === "chat" ? "" : `/${view}`}`;
}

export function go(address: string): void {
  location.hash = address;
  fragment.value = location.hash;
}
