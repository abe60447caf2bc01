// The events of a run. A browser lets a server have six connections, so all tabs of a run share one stream: the tab that
// holds a lock reads it and passes its events on, and when that tab is closed, the next one gets the lock.
import { client } from "./server";

export const MODES = ["custom", "messages-tuple", "values"] as const;
/** How many streams the tabs of a browser have open at once, so that the other requests have room. */
const MOST_STREAMS = 3;

export interface Part {
  id?: string;
  event: string;
  data: unknown;
}

/** Told instead of events where the streams of other runs leave no room for one. */
export const FULL = "full";

/** What tabs say to each other: an event, all events so far, that the stream is over, or that a tab wants all of them. */
type Said = { one: [string, Part] } | { all: [string, Part][] } | "over" | "wanted";

/** Return the events of a run from the first one on; raises what the stream raises, and another tab goes on with it. */
export async function* streamOf(thread: string, run: string, signal: AbortSignal): AsyncGenerator<Part> {
  // A page that is not served from this machine or by TLS has no locks.
  if (!("locks" in navigator)) return yield* ownStream(thread, run, signal);
  const inbox = new Inbox();
  const others = new BroadcastChannel(`restgpt-run-${run}`);
  const left = new AbortController();
  const kept = new Map<string, Part>();
  let isReading = false;
  let hasStart = false;
  const say = (said: Said) => others.postMessage(said);
  others.onmessage = ({ data }: MessageEvent<Said>) => {
    if (data === "over") inbox.end();
    else if (data === "wanted") isReading && say({ all: [...kept] });
    else if ("all" in data) {
      hasStart = true;
      for (const one of data.all) inbox.add(...one);
    } else if (hasStart) inbox.add(...data.one);
  };
  signal.addEventListener("abort", () => inbox.end());
  const read = async () => {
    isReading = true;
    say({ all: [] });
    // LangGraph's development server gives events of one millisecond the same id.
    const times = new Map<string, number>();
    for await (const part of ownStream(thread, run, left.signal)) {
      const id = part.id ?? "";
      times.set(id, (times.get(id) ?? 0) + 1);
      const key = `${id} ${times.get(id)}`;
      // Of the states only the newest one matters to a tab that comes later.
      if (part.event === "values") for (const [old, { event }] of kept) if (event === "values") kept.delete(old);
      kept.set(key, part);
      inbox.add(key, part);
      say({ one: [key, part] });
    }
    if (!left.signal.aborted) say("over");
    inbox.end();
  };
  void navigator.locks
    .request(`restgpt-run-${run}`, { signal: left.signal }, async () => {
      if (await inRoom(left.signal, read)) return;
      inbox.add(FULL, { event: FULL, data: null });
      inbox.end();
    })
    .catch((error: unknown) => inbox.end(error));
  say("wanted");
  try {
    for (let part = await inbox.next(); part; part = await inbox.next()) yield part;
  } finally {
    left.abort();
    others.close();
  }
}

function ownStream(thread: string, run: string, signal: AbortSignal): AsyncGenerator<Part> {
  return client().runs.joinStream(thread, run, { signal, streamMode: [...MODES], lastEventId: "-1" });
}

/** Read a stream where the streams of other runs leave room for it; return whether they do. */
async function inRoom(signal: AbortSignal, read: () => Promise<void>): Promise<boolean> {
  for (let room = 0; room < MOST_STREAMS && !signal.aborted; room += 1) {
    const hasRoom = await navigator.locks.request(`restgpt-stream-${room}`, { ifAvailable: true }, async (lock) => {
      if (lock) await read();
      return lock !== null;
    });
    if (hasRoom) return true;
  }
  return false;
}

/** The events that a tab has got and not taken yet, each once. */
class Inbox {
  #waiting: Part[] = [];
  #seen = new Set<string>();
  #isOver = false;
  #error: unknown;
  #wake = () => {};

  add(key: string, part: Part): void {
    if (this.#seen.has(key) || this.#isOver) return;
    this.#seen.add(key);
    this.#waiting.push(part);
    this.#wake();
  }

  end(error?: unknown): void {
    this.#isOver = true;
    this.#error ??= error;
    this.#wake();
  }

  /** Return the next event; null after the last one. */
  async next(): Promise<Part | null> {
    while (this.#waiting.length === 0 && !this.#isOver) await new Promise<void>((done) => (this.#wake = done));
    const part = this.#waiting.shift();
    if (!part && this.#error) throw this.#error;
    return part ?? null;
  }
}
