// The undo of a thread's changes: first what it would do, then its questions in a thread of its own.
import { signal } from "@preact/signals";

import { runId, startUndo, threadId } from "./conversation";
import { writeExact } from "./exact";
import { followThread } from "./follow";
import { addressOf, go } from "./place";
import { call, readSentence, sentence } from "./server";
import { Alert, Visible } from "./visible";

interface Shown {
  method: string;
  url: string;
  body: unknown;
}

interface Preview {
  /** The thread in which the changes of this one are undone. */
  thread: string;
  changes: { change: Shown; reversal: Shown | null; caution: string; reason: string }[];
}

const preview = signal<Preview | null>(null);
const error = signal("");
/** How many of the newest changes are undone; 0 for all. */
const wanted = signal(0);

followThread(
  ["steer"],
  async (id) => {
    try {
      const found = await call<Preview>("GET", `/debug/undo?thread=${encodeURIComponent(id)}`);
      if (id === threadId.value) preview.value = found;
      error.value = "";
    } catch (failed) {
      error.value = readSentence(failed);
    }
  },
  () => {
    preview.value = null;
    error.value = "";
    wanted.value = 0;
  },
);

export function Undo() {
  const found = preview.value;
  const changes = found?.changes ?? [];
  const count = wanted.value || changes.length;
  const possible = changes.slice(0, count).filter((item) => item.reversal).length;
  const send = async () => {
    try {
      await startUndo(threadId.value ?? "", found!.thread, wanted.value || null);
      go(addressOf(found!.thread));
    } catch (failed) {
      error.value = sentence(failed);
    }
  };
  return (
    <>
      <Alert text={error.value} />
      {found && changes.length === 0 && <p class="own">The thread has made no change that is left to undo.</p>}
      {changes.length > 0 && (
        <>
          <ol class="section" aria-label="What an undo would send">
            {changes.map((item, index) => (
              <li key={index} class={index < count ? "" : "left"}>
                <Line name="made" shown={item.change} />
                {item.reversal ? <Line name="undo" shown={item.reversal} /> : <p class="problem">Undo: no, {item.reason}.</p>}
                {item.reversal && (
                  <p class="own">
                    <Visible text={item.caution} most={400} />
                  </p>
                )}
              </li>
            ))}
          </ol>
          <div class="choices">
            {changes.length > 1 && (
              <>
                <label for="undo-count">Changes</label>
                <select
                  id="undo-count"
                  class="short"
                  value={String(count)}
                  onChange={(event) => (wanted.value = Number(event.currentTarget.value))}
                >
                  {changes.map((_, index) => (
                    <option key={index} value={String(index + 1)}>
                      {index + 1 === changes.length ? `all ${changes.length}` : `the newest ${index + 1 === 1 ? "one" : index + 1}`}
                    </option>
                  ))}
                </select>
              </>
            )}
            <button type="button" class="primary" disabled={possible === 0 || runId.value !== null} onClick={() => void send()}>
              Undo…
            </button>
            <span class="own">Nothing is sent before you have approved each request.</span>
          </div>
        </>
      )}
    </>
  );
}

function Line({ name, shown }: { name: string; shown: Shown }) {
  return (
    <p class="wire">
      <span class="badge">{name}</span> <span class={`method ${shown.method}`}>{shown.method}</span> <Visible text={shown.url} most={400} />
      {shown.body !== null && shown.body !== undefined && (
        <>
          {" "}
          <Visible text={typeof shown.body === "string" ? shown.body : writeExact(shown.body)} most={400} />
        </>
      )}
    </p>
  );
}
