// Two runs side by side, with the first difference marked: of two threads, or of two forks of one.
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { threadId } from "./conversation";
import { differences, type Difference } from "./differences";
import { leaves, nameOfStep, readCheckpoints, stepsTo, checkpoints, type GraphStep } from "./history";
import type { Checkpoint } from "./protocol";
import { sentence } from "./server";
import { nameOf, threads } from "./threads";
import { ChangeView } from "./timeline";
import { Alert, Visible } from "./visible";

const MOST_SHOWN = 20;
/** Names of values that differ between any two runs: ids, times, and what is counted from them. */
const RANDOM = new Set(["id", "clock", "seed", "elapsed_ms", "seconds", "asked", "turn_id", "restgpt_answered", "digest", "fingerprint", "seen", "baseline", "taken", "endpoint"]);

/** The other run: a thread, and the last checkpoint of a fork in it; empty for the newest. */
const other = signal<{ thread: string; leaf: string } | null>(null);
const others = signal<Map<string, Checkpoint>>(new Map());
const error = signal("");

const mine = computed(() => stepsTo(checkpoints.value, leaves(checkpoints.value)[0]));
const theirs = computed<GraphStep[]>(() => {
  const from = other.value?.thread === threadId.value ? checkpoints.value : others.value;
  return stepsTo(from, other.value?.leaf ? from.get(other.value.leaf) : leaves(from)[0]);
});

async function choose(value: string): Promise<void> {
  const [thread = "", leaf = ""] = value.split(" ");
  other.value = thread ? { thread, leaf } : null;
  error.value = "";
  others.value = new Map();
  if (!thread || thread === threadId.value) return;
  try {
    const found = await readCheckpoints(thread, new Map());
    if (other.value?.thread === thread) others.value = found;
  } catch (failed) {
    error.value = sentence(failed);
  }
}

/** Where two steps differ, without what differs between any two runs. */
function between(one: GraphStep | undefined, two: GraphStep | undefined): Difference[] {
  if (!one || !two) return one || two ? [{ pointer: "", before: one && nameOfStep(one), after: two && nameOfStep(two) }] : [];
  if (nameOfStep(one) !== nameOfStep(two)) return [{ pointer: "", before: nameOfStep(one), after: nameOfStep(two) }];
  return differences(settled(one.after.values), settled(two.after.values));
}

function settled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(settled);
  if (typeof value !== "object" || value === null || "rawJSON" in value) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !RANDOM.has(name))
      .map(([name, item]) => [name, settled(item)]),
  );
}

const first = computed(() => {
  const most = Math.max(mine.value.length, theirs.value.length);
  for (let index = 0; index < most; index += 1) {
    const found = between(mine.value[index], theirs.value[index]);
    if (found.length > 0) return { index, found };
  }
  return null;
});

export function Compare() {
  const own = threadId.value;
  useEffect(() => void choose(""), [own]);
  const forks = leaves(checkpoints.value).slice(1);
  return (
    <>
      <div class="field">
        <label for="compare-with">This run beside</label>
        <select id="compare-with" onChange={(event) => void choose(event.currentTarget.value)}>
          <option value="">choose a run</option>
          {forks.map((leaf) => (
            <option key={leaf.checkpoint.checkpoint_id} value={`${own} ${leaf.checkpoint.checkpoint_id}`}>
              this thread before its fork, {new Date(leaf.created_at).toLocaleTimeString("en-GB")}
            </option>
          ))}
          {threads.value
            .filter((thread) => thread.thread_id !== own)
            .map((thread) => (
              <option key={thread.thread_id} value={thread.thread_id}>
                {plain(nameOf(thread))}
              </option>
            ))}
        </select>
      </div>
      <Alert text={error.value} />
      {other.value && theirs.value.length > 0 && <Beside />}
    </>
  );
}

/** An option of a list holds text only, so what cannot be marked there is left out. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "").slice(0, 80);
}

function Beside() {
  const at = first.value;
  return (
    <>
      <p role="status">{at ? `The first difference is at step ${at.index + 1}.` : "The two runs do not differ."}</p>
      <div class="two">
        <Column name="This run" steps={mine.value} mark={at?.index} />
        <Column name="The other run" steps={theirs.value} mark={at?.index} />
      </div>
      {at && (
        <dl class="changes" aria-label="The first difference">
          {at.found.slice(0, MOST_SHOWN).map((item) => (
            <ChangeView key={item.pointer} item={item} names={["this run", "the other run"]} />
          ))}
        </dl>
      )}
    </>
  );
}

function Column({ name, steps, mark }: { name: string; steps: GraphStep[]; mark: number | undefined }) {
  const answer = (steps.at(-1)?.after.values as { answer?: string } | undefined)?.answer;
  return (
    <div class="section">
      <h4 class="strong">{name}</h4>
      <ol class="steps" aria-label={`Steps of ${name.toLowerCase()}`}>
        {steps.map((step, index) => (
          <li key={step.key} class={index === mark ? "differs" : undefined} aria-current={index === mark ? "step" : undefined}>
            <span class="number">{index + 1}</span> {nameOfStep(step)} <span class="facts own">{step.seconds.toFixed(2)} s</span>
            {index === mark && <span class="badge refused">differs</span>}
          </li>
        ))}
      </ol>
      {answer && (
        <p class="outcome-text">
          <Visible text={answer} most={2_000} />
        </p>
      )}
    </div>
  );
}
