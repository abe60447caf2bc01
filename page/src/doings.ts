// What a step of a run did, in short sentences, from the states before and after it.
import type { GraphStep } from "./history";
import { decisionOn, nameOf } from "./progress";
import type { Call } from "./protocol";

const LONG = 160;

export function doingsOf(step: GraphStep): string[] {
  const told = toldOf(step);
  return told.length > 0 ? told : ["passed on"];
}

function toldOf({ nodes, changed, before, after }: GraphStep): string[] {
  const [was, is] = [before?.values ?? {}, after.values];
  if (nodes[0] === "edit") return [`a person changed ${changed.join(", ")}`];
  if (nodes[0] === "__start__") return [`was told: ${cut(is.messages?.findLast((said) => said.type === "human")?.content ?? "")}`];
  const told: string[] = [];
  const { program, decision, selection, api_plan: plan } = is;
  if (changed.includes("turn")) told.push("began the turn");
  if (changed.includes("decision") && decision?.text && decision.kind !== "end") told.push(`set the sub-task: ${cut(decision.text)}`);
  if (changed.includes("selection") && selection) told.push(`chose ${counted(selection.operations.length, "function")}`);
  if (changed.includes("api_plan") && plan?.calls.length && !program) told.push(`planned ${plan.calls.map((call) => call.operation).join(", ")}`);
  if (program && (program.code !== was.program?.code || program.number !== was.program?.number)) {
    told.push(`${program.writer === "recipe" ? "took" : "wrote"} a program of ${counted(program.code.split("\n").length, "line")}`);
  }
  const known = new Map((was.requests ?? []).map((call) => [call.id, call]));
  told.push(...(is.requests ?? []).flatMap((call) => doneWith(call, known.get(call.id))));
  if (program?.end && !(was.program?.end && was.program.number === program.number)) told.push(program.end === "failed" ? "the program failed" : "the program ended");
  if (changed.includes("answer") && is.answer) told.push(`answered: ${cut(is.answer)}`);
  return told;
}

/** What became of a request, and what a person decided about it. */
function doneWith(call: Call, before: Call | undefined): string[] {
  const { status, sketch, reason } = call.response ?? {};
  const request = nameOf(call);
  const decided = before?.status === "approved" ? "" : decisionOn(call);
  if (status !== undefined) {
    if (before?.response?.status !== undefined) return [];
    const [, field, items] = /^(?:\{(?:.*? )??(\S+): )?\[([\d,]+) ×/.exec(sketch ?? "") ?? [];
    const counted = items && (field ? `, ${items} in ${field}` : `, ${items} item${items === "1" ? "" : "s"}`);
    return [decided, `${request} → ${status}${counted ?? ""}${reason ? `, ${cut(reason)}` : ""}`].filter(Boolean);
  }
  if (call.status === before?.status) return [];
  if (call.status === "asked") return [`asks a person about ${request}`];
  if (call.status === "approved" && decided) return [decided];
  if (call.status === "held") return [`${request} was only shown: this is a dry run`];
  return ["rejected", "failed"].includes(call.status) ? [decided || `${request} was not sent: ${cut(call.note ?? "")}`] : [];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function cut(text: string): string {
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}
