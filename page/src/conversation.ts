// The open thread: its messages, what its run does, and the run itself, which is started, joined, stopped and resumed.
import { batch, computed, effect, signal } from "@preact/signals";

import { isBroken, reached, returns, UnreachableError } from "./connection";
import { costOf, costText, linesOfTurns, withEvent, type Line } from "./progress";
import type { Interrupt, Message, ProgressEvent, State, Thread, Values } from "./protocol";
import { wish } from "./runsettings";
import { ASSISTANT, call, client, isMissing, readSentence, sentence, UNDO } from "./server";
import { FULL, MODES, streamOf, type Part } from "./stream";
import { graphOf, nameOfId, refresh } from "./threads";

export const threadId = signal<string | null>(null);
export const messages = signal<Message[]>([]);
/** The lines of each turn, counted from 1. */
export const lines = signal<Map<number, Line[]>>(new Map());
export const questions = signal<Interrupt[]>([]);
/** The ids of the interrupts of which this tab knows why they are not asked any more. */
export const settled = new Set<string>();
export const runId = signal<string | null>(null);
export const isStarting = signal(false);
export const isStopping = signal(false);
export const cost = signal("");
export const failure = signal("");
/** Counts the steps that the followed run has told of. */
export const stepCount = signal(0);
/** Whether the thread has nodes left to run and waits for nobody: it was stopped, or ended with an error. */
export const canGoOn = signal(false);

/** Whether the thread is one of the agent, which takes instructions; an undo takes decisions only. */
export const isAgent = computed(() => graphOf(threadId.value) === ASSISTANT);

const GONE = "This thread is gone: the server does not have it any more.";
const PAUSE_MS = 1_000;
const LOOKS = 5;
let open: AbortController | null = null;
/** The stream that is read at the moment. */
let stream: AbortController | null = null;

interface Run {
  run_id: string;
  status: string;
}

/** What is known of a run that is followed: the turn of its last event, and the messages that its chunks write. */
interface Own {
  turn: number;
  growing: Set<string>;
}

export function turnNow(): number {
  return messages.value.filter((message) => message.type === "human").length;
}

/** Add lines to the newest turn, for what a person did. */
export function addLines(texts: string[]): void {
  const before = lines.value.get(turnNow()) ?? [];
  const added = texts.map((text, index): Line => ({ kind: "task", key: `person ${before.length + index}`, text }));
  lines.value = new Map(lines.value).set(turnNow(), [...before, ...added]);
}

function clear(id: string | null): void {
  open?.abort();
  isBroken.value = false;
  open = null;
  batch(() => {
    threadId.value = id;
    messages.value = [];
    lines.value = new Map();
    questions.value = [];
    runId.value = null;
    isStarting.value = false;
    isStopping.value = false;
    cost.value = "";
    failure.value = "";
    canGoOn.value = false;
  });
}

/** Show a thread, and follow its run if one is going on; null shows an empty one. */
export async function show(id: string | null): Promise<void> {
  if (id === null || id !== threadId.value) clear(id);
  if (id !== null) await catchUp(id);
}

/** Read the open thread again, and follow its run, which another client may have started; not while one is followed. */
export async function catchUp(id: string): Promise<void> {
  if (!isFree(id)) return;
  try {
    const wasBusy = await load(id);
    const [run] = await call<Run[]>("GET", `/threads/${encodeURIComponent(id)}/runs?limit=1`);
    if (!isFree(id)) return;
    if (run && isActive(run)) void follow(id, run.run_id);
    // It has ended since, and what it asks was not shown while it went on.
    else if (wasBusy) await load(id);
  } catch (error) {
    if (id === threadId.value) fail(error);
  }
}

/** Whether a thread is the open one, and no run of it is followed or begun. */
function isFree(id: string): boolean {
  return id === threadId.value && runId.value === null && !isStarting.value;
}

/** Say why the thread cannot be read. */
function fail(error: unknown): void {
  failure.value = isMissing(error) ? GONE : readSentence(error) || failure.value;
  if (!isMissing(error)) return;
  questions.value = [];
  canGoOn.value = false;
}

function isActive(run: Run): boolean {
  return run.status === "running" || run.status === "pending";
}

/** Read the state of the thread, and return whether a run goes on; lines of a turn that were seen live stay. */
async function load(id: string, hasEvents = true): Promise<boolean> {
  const path = `/threads/${encodeURIComponent(id)}`;
  // In this order: the state of a thread that was idle before has the question with which its run ended.
  const thread = await call<Thread>("GET", path);
  const state = await call<State>("GET", `${path}/state`);
  const isIdle = thread.status !== "busy";
  if (id !== threadId.value) return !isIdle;
  batch(() => {
    const values = state.values ?? {};
    if (values.messages) messages.value = values.messages;
    const kept = linesOfTurns(values);
    // The events of a run that goes on tell its turn from the start.
    if (!isIdle && hasEvents) kept.delete(turnNow());
    for (const [turn, seen] of lines.value) if (seen.length >= (kept.get(turn)?.length ?? 0)) kept.set(turn, seen);
    lines.value = kept;
    cost.value = costOf(values.usage);
    // A run that goes on has its answer, though the state is still that of the question.
    const asked = isIdle ? state.tasks.flatMap((task) => task.interrupts ?? []) : [];
    questions.value = asked.filter(({ value }) => value?.action_requests);
    canGoOn.value = isIdle && state.next.length > 0 && questions.value.length === 0;
    const error = state.tasks.find((task) => task.error)?.error;
    if (error && isIdle && !failure.value) failure.value = worded(error);
  });
  return !isIdle;
}

/** The state holds an error as Python writes it: its name, and its message in quotes. */
function worded(error: string): string {
  return /^\w+\((["'])([\s\S]*)\1,?\)$/.exec(error)?.[2] ?? error;
}

/** Begin a turn, in a new thread if none is open; return the id of the thread. */
export async function say(text: string): Promise<string | null> {
  const isNew = threadId.value === null;
  failure.value = "";
  isStarting.value = true;
  try {
    if (isNew) {
      const name = text.length > 80 ? `${text.slice(0, 79)}…` : text;
      const made = await client().threads.create({ graphId: ASSISTANT, metadata: { name } });
      threadId.value = made.thread_id;
    }
    // The server gives the message its id.
    messages.value = [...messages.value, { id: "", type: "human", content: text }];
    await start({ input: { messages: [{ type: "human", content: text }] }, context: wish.value });
  } catch (error) {
    failure.value = sentence(error);
  } finally {
    isStarting.value = false;
  }
  return threadId.value;
}

/** Answer the questions of a thread; each answer is for its interrupt alone, so that it cannot reach another question. */
export async function resume(thread: string, answers: Record<string, unknown>): Promise<void> {
  const run = await create(thread, { command: { resume: answers } });
  if (thread === threadId.value) {
    questions.value = [];
    failure.value = "";
    void follow(thread, run);
  }
}

export async function goOn(): Promise<void> {
  failure.value = "";
  canGoOn.value = false;
  try {
    await start({ input: null });
  } catch (error) {
    failure.value = sentence(error);
  }
}

/** Run again from a checkpoint, with an edited state if one is given. */
export async function fork(thread: string, checkpoint: string, edit: { values: object; as_node?: string } | null): Promise<void> {
  let from = checkpoint;
  if (edit) {
    const made = await call<{ checkpoint: { checkpoint_id: string } }>("POST", `/threads/${encodeURIComponent(thread)}/state`, {
      ...edit,
      checkpoint_id: checkpoint,
    });
    from = made.checkpoint.checkpoint_id;
  }
  const run = await create(thread, { input: null, checkpointId: from });
  if (thread !== threadId.value) return;
  for (const interrupt of questions.value) settled.add(interrupt.id);
  batch(() => {
    messages.value = [];
    lines.value = new Map();
    questions.value = [];
    failure.value = "";
  });
  void refresh();
  void follow(thread, run);
}

/** Run a recipe in a new thread, whose id is returned. */
export async function runRecipe(name: string, recipe: object, inputs: unknown): Promise<string> {
  const made = await client().threads.create({ graphId: ASSISTANT, metadata: { name: `Recipe ${name}` } });
  await create(made.thread_id, { input: { recipe: { name, recipe, inputs } } }, ASSISTANT);
  await refresh();
  return made.thread_id;
}

/** Begin to undo the newest changes of a thread, or all; it asks in the thread `undo`, whose id the server tells. */
export async function startUndo(thread: string, undo: string, changes: number | null): Promise<void> {
  const name = `Undo: ${nameOfId(thread)}`;
  await client().threads.create({ threadId: undo, ifExists: "do_nothing", graphId: UNDO, metadata: { name } });
  await create(undo, { input: { thread, changes } }, UNDO);
  await refresh();
}

export async function stop(): Promise<void> {
  const [thread, run] = [threadId.value, runId.value];
  if (!thread || !run) return;
  isStopping.value = true;
  try {
    await client().runs.cancel(thread, run, true);
  } catch (error) {
    failure.value = sentence(error);
  }
}

async function create(thread: string, given: object, graph = graphOf(thread)): Promise<string> {
  const run = await client().runs.create(thread, graph, {
    ...given,
    streamMode: [...MODES],
    streamResumable: true,
    multitaskStrategy: "reject",
  });
  return run.run_id;
}

async function start(given: object): Promise<void> {
  const thread = threadId.value;
  if (!thread) return;
  const run = await create(thread, given);
  void refresh();
  void follow(thread, run);
}

/** Follow a run to its end; a stream that breaks is joined again, from the first event on. */
async function follow(thread: string, run: string): Promise<void> {
  open?.abort();
  const { signal } = (open = new AbortController());
  batch(() => {
    runId.value = run;
    isStopping.value = false;
    canGoOn.value = false;
  });
  try {
    for (;;) {
      const isFull = await takeStream(thread, run, signal);
      if (!(await isGoingOn(thread, run, signal))) break;
      if (stream?.signal.aborted) continue;
      isBroken.value = !isFull;
      if (isFull) await again(signal, () => load(thread, false));
      await pause(signal);
    }
    // A server may say that a run is over before it says so of the thread.
    for (let left = LOOKS; (await again(signal, () => load(thread))) && left > 0; left -= 1) await pause(signal);
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
  if (signal.aborted) return;
  batch(() => {
    isBroken.value = false;
    runId.value = null;
    isStopping.value = false;
  });
  void refresh();
}

/** Take the events of a run until its stream ends, or breaks; return whether there was no room for a stream. */
async function takeStream(thread: string, run: string, signal: AbortSignal): Promise<boolean> {
  const own: Own = { turn: 0, growing: new Set() };
  stream = new AbortController();
  const parts = streamOf(thread, run, AbortSignal.any([signal, stream.signal]));
  try {
    for (;;) {
      let next: IteratorResult<Part>;
      try {
        next = await parts.next();
      } catch {
        // Whether it is over is asked for in any case.
        return false;
      }
      if (next.done || signal.aborted) return false;
      if (next.value.event === FULL) return true;
      isBroken.value = false;
      take(next.value.event, next.value.data, own);
    }
  } finally {
    void parts.return(undefined);
  }
}

async function isGoingOn(thread: string, run: string, signal: AbortSignal): Promise<boolean> {
  const path = `/threads/${encodeURIComponent(thread)}/runs/${run}`;
  try {
    return isActive(await again(signal, () => call<Run>("GET", path)));
  } catch (error) {
    // What became of the thread is read next.
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Read something, once more whenever the server was away. */
async function again<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      signal.throwIfAborted();
      return await read();
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      await reached(signal);
    }
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, PAUSE_MS);
    signal.addEventListener("abort", () => done());
  });
}

effect(() => {
  if (returns.value === 0) return;
  // A stream of before may be dead without an end.
  stream?.abort();
  const id = threadId.peek();
  if (id !== null) void catchUp(id);
});

function take(event: string, data: unknown, own: Own): void {
  if (event === "custom") takeProgress(data as ProgressEvent, own);
  else if (event === "messages") takeChunk((data as [Message])[0], own);
  else if (event === "values") {
    const { messages: known } = data as Values;
    stepCount.value += 1;
    if (known && known.length >= messages.value.length) messages.value = known;
  } else if (event === "error") {
    failure.value = (data as { message?: string }).message ?? "The run has failed.";
  }
}

function takeProgress(event: ProgressEvent, own: Own): void {
  if (event.type === "usage") {
    cost.value = costText(event.model_calls, event.input_tokens + event.output_tokens, event.requests, event.seconds);
    return;
  }
  const turn = turnNow();
  // A run that is joined tells its events from the start, so what is known of its turn begins anew.
  const before = own.turn === turn || event.type === "request_finished" ? (lines.value.get(turn) ?? []) : kept(turn, event);
  own.turn = turn;
  lines.value = new Map(lines.value).set(turn, withEvent(before, event));
}

/** A run that begins a turn starts with a sub-task; one that goes on after a pause continues the lines of its turn. */
function kept(turn: number, event: ProgressEvent): Line[] {
  return event.type === "task_started" ? [] : (lines.value.get(turn) ?? []);
}

function takeChunk(chunk: Message, own: Own): void {
  const isKnown = messages.value.some((message) => message.id === chunk.id);
  if (chunk.type === "remove") messages.value = messages.value.filter((message) => message.id !== chunk.id);
  else if (!chunk.content) return;
  else if (!isKnown) {
    own.growing.add(chunk.id);
    messages.value = [...messages.value, { id: chunk.id, type: "ai", content: chunk.content }];
  } else if (own.growing.has(chunk.id) && chunk.type !== "ai") {
    // A whole message, which has the type `ai`, comes once more after its chunks.
    messages.value = messages.value.map((message) =>
      message.id === chunk.id ? { ...message, content: message.content + chunk.content } : message,
    );
  }
}
