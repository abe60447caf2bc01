// A fork: another run from a step of the thread, with a state that a person has edited.
import { signal, useSignal } from "@preact/signals";

import { fork, runId, threadId } from "./conversation";
import { parseExact, writeExact } from "./exact";
import { nameOfStep, steps, type GraphStep } from "./history";
import { addressOf, go } from "./place";
import { sentence } from "./server";
import { Alert, escapedHidden } from "./visible";

/** What is summed up or kept by the graph itself, so that a value given for it would not replace it. */
const NOT_EDITED = ["usage", "baseline", "steps", "format"];

/** The step that was chosen, by its key. */
export const forkFrom = signal("");

export function Fork() {
  const open = steps.value.filter((step) => step.after.next.length > 0);
  const chosen = open.find((step) => step.key === forkFrom.value) ?? open.at(-1);
  if (!chosen) return <p class="own">There is no step to fork from.</p>;
  const at = (step: GraphStep) => steps.value.indexOf(step) + 1;
  return (
    <>
      <div class="field">
        <label for="fork-step">After step</label>
        <select id="fork-step" value={chosen.key} onChange={(event) => (forkFrom.value = event.currentTarget.value)}>
          {open.map((step) => (
            <option key={step.key} value={step.key}>
              {at(step)} {nameOfStep(step)}, before {[...new Set(step.after.next)].join(", ")}
            </option>
          ))}
        </select>
      </div>
      <Editor key={chosen.key} step={chosen} />
    </>
  );
}

function Editor({ step }: { step: GraphStep }) {
  const values = step.after.values as Record<string, unknown>;
  const shown = Object.fromEntries(Object.entries(values).filter(([name]) => !NOT_EDITED.includes(name)));
  const text = useSignal(escapedHidden(writeExact(shown)));
  const error = useSignal("");
  const isSending = useSignal(false);
  const send = async () => {
    error.value = "";
    const thread = threadId.value;
    let edited: unknown;
    try {
      edited = parseExact(text.value);
    } catch (failed) {
      error.value = `This is no JSON: ${sentence(failed)}`;
      return;
    }
    if (typeof edited !== "object" || edited === null || Array.isArray(edited) || thread === null) {
      error.value = "The state is an object with the keys that are shown.";
      return;
    }
    const changed = Object.entries(edited).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name]));
    isSending.value = true;
    try {
      const node = step.nodes.length === 1 && step.nodes[0] !== "edit" ? step.nodes[0] : undefined;
      await fork(thread, step.key, changed.length ? { values: Object.fromEntries(changed), as_node: node } : null);
      go(addressOf(thread));
    } catch (failed) {
      error.value = sentence(failed);
    }
    isSending.value = false;
  };
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div class="field">
        <label for="fork-state">State after this step, as JSON</label>
        <textarea
          id="fork-state"
          class="code"
          rows={14}
          spellcheck={false}
          aria-describedby="fork-note"
          aria-invalid={error.value ? "true" : undefined}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <p class="own" id="fork-note">
          What was sent stays sent. The new run asks again before each change.
        </p>
      </div>
      <Alert text={error.value} />
      <p class="choices">
        <button type="submit" class="primary" disabled={isSending.value || runId.value !== null}>
          Fork and run
        </button>
      </p>
    </form>
  );
}
