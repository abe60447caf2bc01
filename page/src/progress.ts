// What a run did, as lines: from the progress events while it runs, from the finished steps of the state afterwards.
import type { Call, ProgressEvent, Step, Values } from "./protocol";

export type Line =
  | { kind: "task"; key: string; text: string }
  | { kind: "code"; key: string; label: string; text: string }
  | { kind: "request"; key: string; method: string; url: string; outcome: string; isOver: boolean; isGood: boolean }
  | { kind: "result"; key: string; label: string; text: string };

const WRITES = "Writes a program";
const RUNS = "Runs a recipe";
export const FAILED = "The program failed";

/** What a result says, without the responses that a model reads below it: the requests show those. */
function toldOf(result: string): string {
  return result.split(/\n(?:Shapes of the responses, |Read: )/, 1)[0]!;
}

/** What a program gave, for a person; the result of a recipe that stopped is written for the planner. */
export function resultOf(program: Step["program"], result = ""): string {
  return (program?.writer === "recipe" && program.feedback) || result;
}

export type Verdict = "approved" | "edited" | "rejected";
const VERBS: Record<Verdict, string> = { approved: "approved", edited: "edited and approved", rejected: "rejected" };
/** How the product begins the note of a call that a person rejected or edited. */
const REJECTED = "The user rejected it.";
const EDITED = "Edited by the user.";

/** Tell what a person decided on a request, with the reason. */
export function decidedText(verdict: Verdict, request: string, reason = ""): string {
  return `You ${VERBS[verdict]} ${request}${reason && `: ${reason}`}`;
}

/** A request in short: its method and its path. */
export function shortOf({ method, url }: { method: string; url: string }): string {
  return `${method} ${url.replace(/^https?:\/\/[^/]*/, "")}`;
}

/** The request of a call in short; before it is over, with the path as the document has it. */
export function nameOf(call: Call): string {
  const [method = "", url = call.operation] = call.endpoint?.split(" ") ?? [];
  return shortOf(call.request ?? call.question?.request ?? { method, url }).trim();
}

/** What a person decided on a call; empty where nobody was asked. */
export function decisionOn(call: Call): string {
  const request = nameOf(call);
  if (call.note?.startsWith(REJECTED)) return decidedText("rejected", request, call.note.slice(REJECTED.length).trim());
  if (call.note === EDITED) return decidedText("edited", request);
  return call.agreed ? decidedText("approved", request) : "";
}

/** Add what an event says to the lines; usage is shown elsewhere. */
export function withEvent(lines: Line[], event: ProgressEvent): Line[] {
  const key = String(lines.length);
  switch (event.type) {
    case "task_started":
      return [...lines, { kind: "task", key, text: event.kind === "program" ? WRITES : event.text }];
    case "operations_chosen":
      return [...lines, { kind: "task", key, text: `Uses ${event.operations.map((chosen) => chosen.operation).join(", ")}` }];
    case "functions_selected":
      return [...lines, { kind: "task", key, text: `${event.words ? `Looks for ${event.words}` : "Chooses functions"}: ${event.operations.length}. ${event.reason}` }];
    case "program_written":
      if (event.writer === "recipe") lines = lines.map((line) => (line.kind === "task" && line.text === WRITES ? { ...line, text: RUNS } : line));
      return [...lines, { kind: "code", key, label: `Program ${event.number}`, text: event.code }];
    case "request_started":
      return [...lines, { kind: "request", key: event.id, method: event.method, url: event.url, outcome: "…", isOver: false, isGood: true }];
    case "request_finished": {
      const outcome = event.status === null ? event.error : `${event.status} · ${event.ms} ms`;
      const isGood = event.status !== null && event.status < 400;
      const done: Line = { kind: "request", key: event.id, method: event.method, url: event.url, outcome, isOver: true, isGood };
      const known = lines.some((line) => line.key === event.id);
      return known ? lines.map((line) => (line.key === event.id ? done : line)) : [...lines, done];
    }
    case "step_finished":
      return event.result ? [...lines, { kind: "result", key, label: endOf(event.end), text: toldOf(event.report || event.result) }] : lines;
    default:
      return lines;
  }
}

function endOf(end: string | null): string {
  if (end === "failed") return FAILED;
  return end === "rejected" ? "Rejected" : "Result";
}

/** Return the lines of the finished steps of each turn, and those of a program that waits. */
export function linesOfTurns({ steps = [], program, requests = [], round, turn = 1 }: Values): Map<number, Line[]> {
  const turns = new Map<number, Line[]>();
  const made = requests.filter((call) => call.round === round && call.response?.status);
  const waiting = program?.status === "running" ? [{ turn, kind: "program", plan: "", result: "", requests: made, program }] : [];
  [...steps, ...waiting].forEach((step, number) => {
    const lines = turns.get(step.turn) ?? [];
    turns.set(step.turn, lines);
    const text = step.kind !== "program" ? step.plan : step.program?.writer === "recipe" ? RUNS : WRITES;
    if (!lines.some((line) => line.kind === "task" && line.text === text)) lines.push({ kind: "task", key: `${number} task`, text });
    if (step.program?.code) lines.push({ kind: "code", key: `${number} code`, label: `Program ${step.program.number ?? ""}`, text: step.program.code });
    step.requests.forEach((call, index) => {
      const decision = decisionOn(call);
      if (decision) lines.push({ kind: "task", key: `${number} decision ${index}`, text: decision });
      const status = call.response?.status;
      const { method, url } = call.request ?? { method: "", url: called(call) };
      const time = call.response?.elapsed_ms;
      lines.push({
        kind: "request",
        key: `${number} request ${index}`,
        method,
        url,
        outcome: status ? (time === undefined ? String(status) : `${status} · ${Math.round(time)} ms`) : call.status,
        isOver: true,
        isGood: status ? status < 400 : call.status !== "failed",
      });
    });
    const said = resultOf(step.program, step.result);
    if (said) lines.push({ kind: "result", key: `${number} result`, label: endOf(step.program?.end ?? null), text: toldOf(said) });
  });
  return turns;
}

/** A call whose request the state no longer has, as its operation with the arguments. */
function called(call: Call): string {
  const text = JSON.stringify(call.arguments) ?? "";
  return `${call.operation} ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}

export function costOf(usage: Values["usage"]): string {
  const roles = Object.values(usage?.roles ?? {});
  if (roles.length === 0) return "";
  const sum = (of: (role: (typeof roles)[number]) => number) => roles.reduce((total, role) => total + of(role), 0);
  return costText(sum((role) => role.calls), sum((role) => role.input_tokens + role.output_tokens), usage?.requests ?? 0, usage?.seconds ?? 0);
}

export function costText(calls: number, tokens: number, requests: number, seconds: number): string {
  const many = (count: number, word: string) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  return [many(calls, "model call"), many(tokens, "token"), many(requests, "request"), `${seconds.toFixed(1)} s`].join(" · ");
}
