// Decisions on changes: they are sent once, and every tab that shows a question is told what became of it.
import { effect, signal } from "@preact/signals";

import { addLines, catchUp, questions, resume, settled, threadId } from "./conversation";
import { place } from "./place";
import { decidedText, shortOf, type Verdict } from "./progress";
import { questionsOf, type Call, type Decision, type Interrupt, type State } from "./protocol";
import { call } from "./server";
import { isLoaded, refresh, waiting } from "./threads";

/** What became of a question that this tab has shown. */
export interface Notice {
  thread: string;
  interrupt: string;
  names: string[];
  by: "here" | "tab" | "place";
  /** What was decided on each change; null as long as that is not known. */
  verdicts: Verdict[] | null;
}

interface Asked {
  thread: string;
  interrupt: Interrupt;
}

const MOST = 5;
const CONFLICT = 409;
const AGAIN_MS = 300;
const TRIES = 40;
const VERDICTS: Record<Decision["type"], Verdict> = { approve: "approved", edit: "edited", reject: "rejected" };

/** The newest last. */
export const notices = signal<Notice[]>([]);
/** The ids of the interrupts that are decided, whatever a list that was read before may say. */
export const gone = signal<Set<string>>(new Set());

const others = new BroadcastChannel("restgpt-decisions");

export function sentenceOf({ by, names, verdicts }: Notice): string {
  const where = by === "tab" ? "This was decided in another tab" : "This was decided in another place";
  if (verdicts === null) return `${where}.`;
  if (by === "here") return names.map((name, index) => `${decidedText(verdicts[index]!, name)}.`).join(" ");
  return `${where}: ${names.map((name, index) => `${name} ${verdicts[index]}`).join(", ")}.`;
}

/** Send the decisions on a question, unless it was decided elsewhere, which is told instead. */
export async function decide(thread: string, interrupt: Interrupt, decisions: Decision[]): Promise<void> {
  const asked = { thread, interrupt };
  try {
    if (!(await isOpen(asked))) return lose(asked);
    settled.add(interrupt.id);
    await resume(thread, { [interrupt.id]: { decisions } });
  } catch (error) {
    if ((error as { status?: unknown }).status === CONFLICT) return lose(asked);
    settled.delete(interrupt.id);
    throw error;
  }
  const verdicts = decisions.map((decision) => VERDICTS[decision.type]);
  const notice: Notice = { ...named(asked), by: "here", verdicts };
  tell(notice);
  if (thread === threadId.value) {
    addLines(decisions.map((decision, index) => decidedText(verdicts[index]!, notice.names[index]!, decision.type === "reject" ? decision.message : "")));
  }
  others.postMessage({ ...notice, by: "tab" });
}

others.onmessage = ({ data }: MessageEvent<Notice>) => {
  settled.add(data.interrupt);
  if (shown().some((asked) => asked.interrupt.id === data.interrupt) || isTold(data.interrupt)) tell(data);
  else leave(data.thread, data.interrupt);
};

/** Return whether the thread still waits for the answer to a question. */
async function isOpen({ thread, interrupt }: Asked): Promise<boolean> {
  const path = `/threads/${encodeURIComponent(thread)}`;
  const [state, { status }] = await Promise.all([call<State>("GET", `${path}/state`), call<{ status: string }>("GET", path)]);
  return status !== "busy" && state.tasks.some((task) => (task.interrupts ?? []).some(({ id }) => id === interrupt.id));
}

/** Tell that a question was decided elsewhere, and how as soon as the thread says it. */
async function lose(asked: Asked): Promise<void> {
  settled.add(asked.interrupt.id);
  if (!isTold(asked.interrupt.id)) tell({ ...named(asked), by: "place", verdicts: null });
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { values } = await call<State>("GET", `/threads/${encodeURIComponent(asked.thread)}/state`);
    const found = verdictsOf(asked.interrupt, values.requests ?? [], values.steps?.flatMap((step) => step.requests) ?? []);
    const told = notices.value.find((notice) => notice.interrupt === asked.interrupt.id);
    if (!told || told.verdicts) return;
    if (found) return tell({ ...told, verdicts: found });
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** Read what was decided from the calls of a thread; null if one of them still waits, or is not there. */
function verdictsOf(interrupt: Interrupt, current: Call[], earlier: Call[]): Verdict[] | null {
  const all = [...earlier, ...current];
  const found = (interrupt.value.action_requests ?? []).map((action) => {
    const alike = all.filter((made) => made.operation === action.name);
    const same = alike.findLast((made) => JSON.stringify(made.arguments) === JSON.stringify(action.args));
    // Only an edit changes the arguments of a call.
    if (!same) return alike.length > 0 ? "edited" : null;
    if (same.status === "asked" || same.status === "planned") return null;
    return same.status === "rejected" ? "rejected" : "approved";
  });
  return found.includes(null) ? null : (found as Verdict[]);
}

function named({ thread, interrupt }: Asked): { thread: string; interrupt: string; names: string[] } {
  return { thread, interrupt: interrupt.id, names: (interrupt.value.action_requests ?? []).map(({ request }) => shortOf(request)) };
}

function isTold(interrupt: string): boolean {
  return notices.value.some((notice) => notice.interrupt === interrupt);
}

function tell(notice: Notice): void {
  notices.value = [...notices.value.filter((known) => known.interrupt !== notice.interrupt), notice].slice(-MOST);
  leave(notice.thread, notice.interrupt);
}

/** Take the form of a question away, and read what the thread does instead. */
function leave(thread: string, interrupt: string): void {
  gone.value = new Set(gone.value).add(interrupt);
  if (thread === threadId.value) questions.value = questions.value.filter(({ id }) => id !== interrupt);
  void catchUp(thread);
  void refresh();
}

/** The questions on the screen: those of the inbox, or of the open thread. */
function shown(): Asked[] {
  const here = place.value;
  if (here.kind === "inbox") {
    return waiting.value.flatMap((thread) => questionsOf(thread).map((interrupt) => ({ thread: thread.thread_id, interrupt })));
  }
  if (here.kind !== "thread" || here.id !== threadId.value) return [];
  return questions.value.map((interrupt) => ({ thread: here.id, interrupt }));
}

let before: { where: string; asked: Asked[] } = { where: "", asked: [] };
effect(() => {
  const here = place.value;
  const where = here.kind === "thread" ? here.id : here.kind;
  const asked = shown();
  if (!isLoaded.value) return;
  const left = before.where === where ? before.asked.filter((old) => !asked.some(({ interrupt }) => interrupt.id === old.interrupt.id)) : [];
  before = { where, asked };
  for (const item of left) if (!settled.has(item.interrupt.id)) queueMicrotask(() => void lose(item));
});
