// The calls of the open thread as they went over the wire, and pieces of their bodies.
import { signal } from "@preact/signals";

import { threadId } from "./conversation";
import { followThread } from "./follow";
import { call, readSentence } from "./server";

export interface Origin {
  pointer: string;
  origin: "user" | "document" | "response" | "model" | "program";
  places?: { handle: string; at: string }[];
}

export interface WireCall {
  id: string;
  turn: number;
  task: number;
  operation: string;
  status: string;
  note: string;
  arguments: unknown;
  provenance: Origin[];
  /** The request as it was or will be sent, with secrets hidden; null if it can no longer be built. */
  request: { method: string; url: string; headers: Record<string, string>; body: unknown } | null;
  /** Whether the request is the one that the journal of changes holds. */
  isNoted: boolean;
  response: Partial<{
    handle: string;
    status: number;
    media_type: string;
    size: number;
    sketch: string;
    notices: string[];
    elapsed_ms: number;
    reason: string;
    headers: Record<string, string>;
  }>;
  place?: { line: number; source: string; program: number; position: string };
}

export interface Piece {
  pointer: string;
  page: number;
  pages: number;
  kind: string;
  content: string;
  start: number;
  stop: number;
  total: number;
  isCut: boolean;
}

export const calls = signal<WireCall[] | null>(null);
/** How many requests were sent for the calls, as the cost counts them. */
export const requestCount = signal(0);
export const callsError = signal("");

async function readCalls(id: string): Promise<void> {
  try {
    const found = await call<{ calls: WireCall[]; requests: number }>("GET", `/debug/wire?thread=${encodeURIComponent(id)}`);
    if (id !== threadId.value) return;
    calls.value = found.calls;
    requestCount.value = found.requests;
    callsError.value = "";
  } catch (error) {
    callsError.value = readSentence(error);
  }
}

followThread(["wire", "program"], readCalls, () => {
  calls.value = null;
  callsError.value = "";
});

export async function readPiece(of: string, side: "request" | "answer", pointer: string, page: number): Promise<Piece> {
  const given = new URLSearchParams({ thread: threadId.value ?? "", call: of, side, pointer, page: String(page) });
  return call<Piece>("GET", `/debug/wire/body?${given}`);
}

const REFUSED = ["rejected", "held", "failed"];

/** What became of a call, in a word, and how it ended. */
export function outcomeOf(made: WireCall): { state: "planned" | "waiting" | "sent" | "refused"; text: string; isGood: boolean } {
  if (made.status === "asked") return { state: "waiting", text: "waits for a person", isGood: true };
  if (made.status === "held") return { state: "refused", text: "held back by the dry run", isGood: true };
  if (REFUSED.includes(made.status)) return { state: "refused", text: made.note || made.status, isGood: false };
  const { status, elapsed_ms: ms, reason } = made.response;
  if (status === undefined) return { state: "planned", text: "not sent yet", isGood: true };
  return { state: "sent", text: `${status}${ms === undefined ? "" : ` · ${ms} ms`}${reason ? ` · ${reason}` : ""}`, isGood: status < 400 };
}

export function nameOf(made: WireCall): string {
  return made.request ? `${made.request.method} ${made.operation}` : made.operation;
}

/** Return the call that got an answer: the last one before the asking call, or else the first. */
export function answeredBy(handle: string, asking: WireCall): WireCall | null {
  const all = calls.value ?? [];
  const before = all.slice(0, Math.max(0, all.indexOf(asking))).filter((made) => made.response.handle === handle);
  return before.at(-1) ?? all.find((made) => made.response.handle === handle) ?? null;
}
