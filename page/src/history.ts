// The checkpoints of the open thread, and the steps between them.
import { computed, signal } from "@preact/signals";

import { threadId } from "./conversation";
import { changedKeys } from "./differences";
import { followThread } from "./follow";
import type { Checkpoint, Values } from "./protocol";
import { call, readSentence } from "./server";

const AT_ONCE = 20;
const MOST = 1_000;

/** What one step of the graph did: the checkpoint that it led to, and the one before it. */
export interface GraphStep {
  key: string;
  /** The nodes that ran; `__start__` where a turn was given, "edit" where a person changed the state. */
  nodes: string[];
  before: Checkpoint | null;
  after: Checkpoint;
  changed: string[];
  at: string;
  seconds: number;
  tokens: number;
  /** Calls of models. */
  calls: number;
  requests: number;
}

/** All checkpoints by id, the newest first. */
export const checkpoints = signal<Map<string, Checkpoint>>(new Map());
export const historyError = signal("");

/** The steps on the road to the newest checkpoint, the oldest first. */
export const steps = computed<GraphStep[]>(() => stepsTo(checkpoints.value, head.value ?? undefined));
export const head = computed<Checkpoint | null>(() => checkpoints.value.values().next().value ?? null);

/** Return the checkpoints after which nothing came, the newest first: the ends of a thread and of its earlier forks. */
export function leaves(all: Map<string, Checkpoint>): Checkpoint[] {
  const parents = new Set([...all.values()].map((item) => item.parent_checkpoint?.checkpoint_id));
  return [...all.values()].filter((item) => !parents.has(item.checkpoint.checkpoint_id));
}

/** Return the steps that led to a checkpoint, the oldest first. */
export function stepsTo(all: Map<string, Checkpoint>, to: Checkpoint | undefined): GraphStep[] {
  const found: GraphStep[] = [];
  for (let at = to; at; ) {
    const before: Checkpoint | undefined = all.get(at.parent_checkpoint?.checkpoint_id ?? "");
    // The checkpoint of an input is no step: the one after it has what the input changed.
    if (at.metadata.source !== "input") found.unshift(stepOf(before ?? null, at));
    at = before;
  }
  return found;
}

const known = new WeakMap<Checkpoint, GraphStep>();

function compared(all: Map<string, Checkpoint>, after: Checkpoint): void {
  const before = all.get(after.parent_checkpoint?.checkpoint_id ?? "");
  if (before) stepOf(before, after);
}

function stepOf(before: Checkpoint | null, after: Checkpoint): GraphStep {
  const found = known.get(after);
  if (found && found.before === before) return found;
  const isEdit = after.metadata.source === "update" || after.metadata.source === "fork";
  const [was, is] = [spent(before?.values), spent(after.values)];
  const step = {
    key: after.checkpoint.checkpoint_id,
    nodes: isEdit ? ["edit"] : [...new Set(before?.next ?? [])],
    before,
    after,
    changed: changedKeys((before?.values ?? {}) as Record<string, unknown>, after.values as Record<string, unknown>),
    at: after.created_at,
    seconds: Math.max(0, is.seconds - was.seconds),
    tokens: Math.max(0, is.tokens - was.tokens),
    calls: Math.max(0, is.calls - was.calls),
    requests: Math.max(0, is.requests - was.requests),
  };
  known.set(after, step);
  return step;
}

function spent(values: Values | undefined): { seconds: number; tokens: number; calls: number; requests: number } {
  const usage = values?.usage ?? {};
  const roles = Object.values(usage.roles ?? {});
  const tokens = roles.reduce((sum, role) => sum + role.input_tokens + role.output_tokens, 0);
  const calls = roles.reduce((sum, role) => sum + role.calls, 0);
  return { seconds: usage.seconds ?? 0, tokens, calls, requests: usage.requests ?? 0 };
}

export function nameOfStep(step: GraphStep): string {
  return step.nodes.map((node) => (node === "__start__" ? "input" : node)).join(", ");
}

/** Read the checkpoints that are new since the last time. */
async function readHistory(id: string): Promise<void> {
  try {
    const added = await readCheckpoints(id, checkpoints.value);
    if (id !== threadId.value) return;
    // The newest one may have got its questions or an error since.
    checkpoints.value = new Map([...added, ...[...checkpoints.value].filter(([key]) => !added.has(key))]);
    historyError.value = "";
  } catch (error) {
    historyError.value = readSentence(error);
  }
}

/** Read the checkpoints of a thread, the newest first, back to one that is known. */
export async function readCheckpoints(id: string, known: Map<string, Checkpoint>): Promise<Map<string, Checkpoint>> {
  const found = new Map<string, Checkpoint>();
  let before: string | null = null;
  while (found.size < MOST) {
    const page: Checkpoint[] = await call("POST", `/threads/${encodeURIComponent(id)}/history`, {
      limit: AT_ONCE,
      ...(before === null ? {} : { before: { configurable: { checkpoint_id: before } } }),
    });
    for (const checkpoint of page) found.set(checkpoint.checkpoint.checkpoint_id, checkpoint);
    // What each step changed is worked out page by page, because the work for all of them is a pause that one feels.
    for (const item of found.values()) compared(found, item);
    const last = page.at(-1)?.checkpoint.checkpoint_id;
    // A page of large checkpoints is short, so only an empty one is the last.
    if (!last || last === before || known.has(last)) break;
    before = last;
  }
  return found;
}

followThread(["timeline", "program", "cost", "steer"], readHistory, () => {
  checkpoints.value = new Map();
  historyError.value = "";
});
