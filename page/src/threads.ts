// The list of threads, asked for again while the page is visible.
import { computed, signal } from "@preact/signals";

import { isUnreachable, wake } from "./connection";
import { questionsOf, type Thread } from "./protocol";
import { ASSISTANT, call, readSentence, UNDO } from "./server";

const PAUSE_MS = 2_000;
/** While a run goes on somewhere, which may ask something at any moment. */
const SHORT_PAUSE_MS = 700;
/** A server that does not answer for so long is as good as away. */
const PATIENCE_MS = 10_000;
/** A page that has not looked for so long was asleep, and its streams may be dead without an end. */
const ASLEEP_MS = 15_000;
const MOST = 50;
/** The most threads that wait; the server takes no greater limit. */
const MOST_WAITING = 1_000;

export const threads = signal<Thread[]>([]);
/** The words that a listed thread has to have; empty for the newest threads. */
export const sought = signal("");
export const listed = computed(() => {
  const words = sought.value.toLowerCase().split(/\s+/).filter(Boolean);
  return threads.value.filter((thread) => {
    const text = [nameOf(thread), stateOf(thread).label, ...(thread.metadata?.apis ?? [])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
});
export const isLoaded = signal(false);
/** Why the list is not up to date; empty if it is. */
export const listError = signal("");
export const waiting = computed(() => threads.value.filter((thread) => questionsOf(thread).length > 0));
export const waitingCount = computed(() =>
  waiting.value.flatMap(questionsOf).reduce((sum, { value }) => sum + (value.action_requests?.length ?? 0), 0),
);

let shown = "";

export async function refresh(): Promise<void> {
  try {
    const both = await Promise.all([ASSISTANT, UNDO].map((graph) => search(graph)));
    const newest = newestFirst(both.flat()).slice(0, sought.value ? MOST_WAITING : MOST);
    const known = new Set(newest.map((thread) => thread.thread_id));
    const older = newest.length < MOST || sought.value ? [] : await Promise.all([ASSISTANT, UNDO].map((graph) => search(graph, "interrupted")));
    const found = [...newest, ...newestFirst(older.flat()).filter((thread) => !known.has(thread.thread_id))];
    const text = JSON.stringify(found);
    // The same list is no reason to draw anything again.
    if (text !== shown) threads.value = found;
    shown = text;
    isLoaded.value = true;
    listError.value = "";
  } catch (error) {
    listError.value = readSentence(error);
  }
}

function newestFirst(found: Thread[]): Thread[] {
  return found.sort((one, other) => other.updated_at.localeCompare(one.updated_at));
}

function search(graph: string, status?: Thread["status"]): Promise<Thread[]> {
  const wanted = {
    limit: status || sought.value ? MOST_WAITING : MOST,
    ...(status && { status }),
    sort_by: "updated_at",
    sort_order: "desc",
    metadata: { graph_id: graph },
    select: ["thread_id", "status", "updated_at", "metadata", "interrupts"],
  };
  return call<Thread[]>("POST", "/threads/search", wanted, PATIENCE_MS);
}

/** Return the graph of a thread; a thread that is not listed yet is one of the agent. */
export function graphOf(id: string | null): string {
  return threads.value.find((thread) => thread.thread_id === id)?.metadata?.graph_id ?? ASSISTANT;
}

export function watch(): void {
  let last = Date.now();
  let wasHidden = false;
  const look = async () => {
    wasHidden ||= document.visibilityState !== "visible";
    if (document.visibilityState !== "visible") return;
    // The timers of a hidden page are slow, so it is not told that it slept.
    if (Date.now() - last > ASLEEP_MS) wake(!wasHidden);
    wasHidden = false;
    await refresh();
    last = Date.now();
  };
  const lookOn = async () => {
    await look();
    const isShort = isUnreachable.value || threads.value.some((thread) => thread.status === "busy");
    setTimeout(lookOn, isShort ? SHORT_PAUSE_MS : PAUSE_MS);
  };
  void lookOn();
  document.addEventListener("visibilitychange", () => void look());
  addEventListener("online", () => void look());
}

export function nameOf(thread: Thread): string {
  return thread.metadata?.name || thread.thread_id;
}

export function nameOfId(id: string): string {
  const thread = threads.value.find((known) => known.thread_id === id);
  return thread ? nameOf(thread) : id;
}

export function stateOf(thread: Thread): { label: string; kind: string } {
  const count = questionsOf(thread).reduce((sum, { value }) => sum + (value.action_requests?.length ?? 0), 0);
  if (thread.status === "busy") return { label: "running", kind: "busy" };
  if (count > 0) return { label: `waiting: ${count === 1 ? "1 change" : `${count} changes`}`, kind: "waiting" };
  if (thread.status === "interrupted") return { label: "stopped", kind: "stopped" };
  if (thread.status === "error") return { label: thread.metadata?.is_unfulfilled ? "not fulfilled" : "failed", kind: "error" };
  return { label: "done", kind: "idle" };
}

const HOUR = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** When a thread was used last: the time of today, or else the date. */
export function timeOf(thread: Thread): string {
  const at = new Date(thread.updated_at);
  return at.toDateString() === new Date().toDateString() ? HOUR.format(at) : DAY.format(at);
}
