// The steps of a thread: which role worked, when and how long, its tokens, and what it changed in the state.
import { useSignal } from "@preact/signals";

import { runId, threadId } from "./conversation";
import { differences, type Difference } from "./differences";
import { doingsOf } from "./doings";
import { writeExact } from "./exact";
import { useFew } from "./few";
import { forkFrom } from "./fork";
import { GraphPicture } from "./graph";
import { head, historyError, nameOfStep, steps, type GraphStep } from "./history";
import { addressOf, go } from "./place";
import { Alert, Visible } from "./visible";

// Made once, because making it takes as long as drawing a step.
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const MOST_CHANGES = 200;
const MOST_SHOWN = 2_000;

export function Timeline() {
  const all = steps.value;
  const turns = turnsOf(all);
  return (
    <div class="beside">
      <div class="section">
        <Alert text={historyError.value} />
        <p class="own" role="status">
          {standing(all.length)}
        </p>
        {turns.length < 2 ? (
          <StepList steps={all} name="Steps" before={0} />
        ) : (
          turns.map((turn, index) => <TurnView key={turn.before} turn={turn} number={index + 1} isLast={index === turns.length - 1} />)
        )}
      </div>
      <GraphPicture steps={all} atWork={head.value?.next ?? []} isRunning={runId.value !== null} />
    </div>
  );
}

/** The steps of one instruction, and how many came before them. */
interface Turn {
  steps: GraphStep[];
  before: number;
}

function turnsOf(all: GraphStep[]): Turn[] {
  const found: Turn[] = [];
  all.forEach((step, index) => {
    if (found.length === 0 || step.nodes.includes("__start__")) found.push({ steps: [], before: index });
    found.at(-1)!.steps.push(step);
  });
  return found;
}

function TurnView({ turn: { steps, before }, number, isLast }: { turn: Turn; number: number; isLast: boolean }) {
  const chosen = useSignal<boolean | null>(null);
  const isOpen = chosen.value ?? isLast;
  const said = (steps.at(-1)?.after.values.messages ?? []).findLast((message) => message.type === "human")?.content ?? "";
  const sum = (of: (step: GraphStep) => number) => steps.reduce((all, step) => all + of(step), 0);
  const name = `Steps of turn ${number}`;
  return (
    <details class="turn-steps" open={isOpen} onToggle={({ currentTarget: at }) => at.open !== isOpen && (chosen.value = at.open)}>
      <summary>
        <strong>Turn {number}</strong> <Visible text={said} most={120} />{" "}
        <span class="facts">{factsOf({ seconds: sum((step) => step.seconds), tokens: sum((step) => step.tokens), requests: sum((step) => step.requests) }, steps.length)}</span>
      </summary>
      {isOpen && <StepList steps={steps} name={name} before={before} />}
    </details>
  );
}

function StepList({ steps, name, before }: { steps: GraphStep[]; name: string; before: number }) {
  const { shown, start, more } = useFew(steps, "steps", "last");
  return (
    <>
      {more && <p>{more}</p>}
      <ol class="steps" aria-label={name}>
        {shown.map((step, index) => (
          <li key={step.key}>
            <StepView step={step} number={before + start + index + 1} />
          </li>
        ))}
      </ol>
    </>
  );
}

function factsOf({ seconds, tokens, requests }: { seconds: number; tokens: number; requests: number }, count = 0): string {
  return [
    ...(count ? [`${count} steps`] : []),
    `${seconds.toFixed(2)} s`,
    ...(tokens ? [`${tokens.toLocaleString("en")} tokens`] : []),
    ...(requests ? [`${requests} ${requests === 1 ? "request" : "requests"}`] : []),
  ].join(" · ");
}

function standing(count: number): string {
  const at = head.value;
  const told = count === 1 ? "1 step" : `${count} steps`;
  if (!at) return "Reading the steps …";
  if (at.next.length === 0) return `${told}; the run is over.`;
  const names = [...new Set(at.next)].join(", ");
  if (at.tasks.some((task) => (task.interrupts ?? []).length > 0)) return `${told}; ${names} waits for a person.`;
  return runId.value === null ? `${told}; the run has not ended, ${names} is next.` : `${told}; ${names} is at work.`;
}

function StepView({ step, number }: { step: GraphStep; number: number }) {
  const isOpen = useSignal(false);
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <span class="number">{number}</span> <strong>{nameOfStep(step)}</strong> <span class="facts">{`${TIME.format(new Date(step.at))} · ${factsOf(step)}`}</span>
        {doingsOf(step).map((text, index) => (
          <span class="changed" key={index}>
            <Visible text={text} most={400} />
          </span>
        ))}
      </summary>
      {isOpen.value && step.after.next.length > 0 && (
        <p>
          <button
            type="button"
            onClick={() => {
              forkFrom.value = step.key;
              go(addressOf(threadId.value ?? "", "steer"));
            }}
          >
            Fork after this step…
          </button>
        </p>
      )}
      {isOpen.value && <Changes before={step.before?.values ?? {}} after={step.after.values} />}
    </details>
  );
}

export function Changes({ before, after }: { before: unknown; after: unknown }) {
  // What a step cost stands beside its name.
  const found = differences(before, after).filter(({ pointer }) => !pointer.startsWith("/usage/"));
  return (
    <>
      <dl class="changes">
        {found.slice(0, MOST_CHANGES).map((item) => (
          <ChangeView key={item.pointer} item={item} />
        ))}
      </dl>
      {found.length > MOST_CHANGES && <p class="own">{found.length - MOST_CHANGES} more changes are not shown.</p>}
    </>
  );
}

export function ChangeView({ item, names = ["was", "is"] }: { item: Difference; names?: [string, string] }) {
  return (
    <div>
      <dt>
        <Visible text={item.pointer || "/"} most={200} />
      </dt>
      {(["before", "after"] as const).map((side, index) =>
        item[side] === undefined ? null : (
          <dd key={side} class={side}>
            <span class="remark">{item.before === undefined && names[1] === "is" ? "new" : names[index]}</span>
            <pre tabIndex={0}>
              <Visible text={textOf(item[side])} most={MOST_SHOWN} />
            </pre>
          </dd>
        ),
      )}
    </div>
  );
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : writeExact(value);
}
