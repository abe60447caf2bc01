// The steps of a thread: which role worked, when and how long, its tokens, and what it changed in the state.
import { useSignal } from "@preact/signals";

import { runId, threadId } from "./conversation";
import { differences, type Difference } from "./differences";
import { writeExact } from "./exact";
import { forkFrom } from "./fork";
import { GraphPicture } from "./graph";
import { head, historyError, nameOfStep, steps, type GraphStep } from "./history";
import { addressOf, go } from "./place";
import { Visible } from "./visible";

const MOST_CHANGES = 200;
const MOST_SHOWN = 2_000;

export function Timeline() {
  const all = steps.value;
  return (
    <div class="beside">
      <div class="section">
        {historyError.value && (
          <p class="problem" role="alert">
            {historyError.value}
          </p>
        )}
        <p class="own" role="status">
          {standing(all.length)}
        </p>
        <ol class="steps" aria-label="Steps">
          {all.map((step, index) => (
            <li key={step.key}>
              <StepView step={step} number={index + 1} />
            </li>
          ))}
        </ol>
      </div>
      <GraphPicture steps={all} atWork={head.value?.next ?? []} isRunning={runId.value !== null} />
    </div>
  );
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
  const facts = [
    new Date(step.at).toLocaleTimeString("en-GB"),
    `${step.seconds.toFixed(2)} s`,
    ...(step.tokens ? [`${step.tokens.toLocaleString("en")} tokens`] : []),
    ...(step.requests ? [`${step.requests} ${step.requests === 1 ? "request" : "requests"}`] : []),
  ];
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <span class="number">{number}</span> <strong>{nameOfStep(step)}</strong> <span class="facts">{facts.join(" · ")}</span>
        <span class="changed">{step.changed.length ? `changed ${step.changed.join(", ")}` : "changed nothing"}</span>
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
  const found = differences(before, after);
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
