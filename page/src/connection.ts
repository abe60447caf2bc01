// Whether the server can be reached, and what has to be read again once it can, or once the page was asleep.
import { effect, signal } from "@preact/signals";

/** The server did not answer, or what stands before it answered that it does not. */
export class UnreachableError extends Error {
  constructor() {
    super("The server cannot be reached. Is it still running?");
  }
}

/** Statuses of a proxy whose server does not answer. */
const ABSENT = [502, 503, 504];
const PATIENCE_MS = 60_000;
const TOLD_MS = 4_000;

export const isUnreachable = signal(false);
/** Whether the stream of the followed run broke, and is joined again. */
export const isBroken = signal(false);
export const isAwake = signal(true);
/** Counts how often everything has to be read again. */
export const returns = signal(0);

/** What a person should know about the connection; empty if all is well. */
export function trouble(): string {
  if (isUnreachable.value) return "The server cannot be reached; trying again.";
  if (isBroken.value) return "The connection to the run broke; trying again.";
  return isAwake.value ? "" : "This page was asleep; it has read everything again.";
}

/** Send a request, and note whether the server can be reached; raises `UnreachableError`. */
export async function reach(input: RequestInfo | URL, init: RequestInit = {}, patience = PATIENCE_MS): Promise<Response> {
  const isStream = new Headers(init.headers).has("Last-Event-ID");
  const limits = isStream ? [] : [AbortSignal.timeout(patience)];
  try {
    const signal = AbortSignal.any([...limits, ...(init.signal ? [init.signal] : [])]);
    const answer = await fetch(input, { ...init, signal });
    if (ABSENT.includes(answer.status)) throw lost();
    isUnreachable.value = false;
    if (!answer.headers.has("location")) return answer;
    // LangGraph's SDK tries by itself to join a stream again whose address it knows, and says nothing meanwhile.
    const headers = new Headers(answer.headers);
    headers.delete("location");
    return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers });
  } catch (error) {
    throw init.signal?.aborted ? error : lost();
  }
}

/** Return the text of an answer; raises `UnreachableError` if the connection breaks before its end. */
export async function textOf(answer: Response): Promise<string> {
  try {
    return await answer.text();
  } catch {
    throw lost();
  }
}

function lost(): UnreachableError {
  isUnreachable.value = true;
  return new UnreachableError();
}

/** Wait until the server can be reached, or `signal` aborts. */
export function reached(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const stop = effect(() => {
      if (isUnreachable.value && !signal.aborted) return;
      done();
      queueMicrotask(() => stop());
    });
    signal.addEventListener("abort", () => done());
  });
}

/** Let everything be read again, because the page was away for long; `isTold` says so. */
export function wake(isTold: boolean): void {
  returns.value += 1;
  if (!isTold) return;
  isAwake.value = false;
  setTimeout(() => (isAwake.value = true), TOLD_MS);
}

let wasUnreachable = false;
effect(() => {
  if (wasUnreachable && !isUnreachable.value) returns.value = returns.peek() + 1;
  wasUnreachable = isUnreachable.value;
});
