// A pause of a thread: its questions, each decided for itself, and the answer to all of them at once.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { decide as sendDecisions, gone, notices, sentenceOf } from "./decided";
import type { Action, Decision, Interrupt } from "./protocol";
import { Question } from "./question";
import { isExplained } from "./keys";
import { sentence } from "./server";
import { Alert, Visible } from "./visible";

// Edits that were sent, so that one that does not fit comes back as it was written.
const drafts = new Map<string, Record<string, unknown>>();

/** What became of the questions of a thread, or of all threads. */
export function Decided({ thread }: { thread: string | null }) {
  // In its thread, what was decided here stands among the lines of the run.
  const told = notices.value.filter((notice) => thread === null || (notice.thread === thread && notice.by !== "here"));
  return (
    <div role="status" class="told">
      {told.map((notice) => (
        <p key={notice.interrupt} class={notice.by === "here" ? "own" : ""}>
          <Visible text={sentenceOf(notice)} most={400} />
        </p>
      ))}
    </div>
  );
}

export function Pause(props: { thread: string; interrupt: Interrupt }) {
  return gone.value.has(props.interrupt.id) ? null : <Asking {...props} />;
}

function Asking({ thread, interrupt }: { thread: string; interrupt: Interrupt }) {
  const actions = interrupt.value.action_requests ?? [];
  const decisions = useSignal<(Decision | null)[]>(actions.map(() => null));
  const later = useSignal<boolean[]>(actions.map(() => false));
  const isSending = useSignal(false);
  const error = useSignal("");
  const sending = useRef<HTMLButtonElement>(null);
  const seen = useSignal<boolean[]>(actions.map(() => false));
  const left = decisions.value.filter((decision) => decision === null).length;
  const approveLeft = () => {
    decisions.value = decisions.value.map((decision) => decision ?? { type: "approve" });
    void send();
  };

  const send = async () => {
    isSending.value = true;
    error.value = "";
    decisions.value.forEach((decision, index) => {
      if (decision?.type === "edit") drafts.set(keyOf(thread, actions[index]!), decision.edited_action.args as Record<string, unknown>);
    });
    try {
      await sendDecisions(thread, interrupt, decisions.value as Decision[]);
    } catch (failed) {
      error.value = sentence(failed);
      isSending.value = false;
    }
  };
  const decide = (index: number, decision: Decision | null) => {
    decisions.value = decisions.value.map((old, at) => (at === index ? decision : old));
    if (decisions.value.includes(null)) return;
    if (actions.length === 1) void send();
    else requestAnimationFrame(() => sending.current?.focus());
  };

  const order = actions.map((_, index) => index).sort((a, b) => Number(later.value[a]) - Number(later.value[b]));
  return (
    <section class={actions.length > 1 ? "pause many" : "pause"} aria-label="Changes that wait for your decision">
      {isExplained.value && (
        <p class="own" role="status">
          Keys, in the change that has the focus: a approve, n the next ones too, e edit, r reject, Escape close.
        </p>
      )}
      {order.map((index) => {
        const action = actions[index]!;
        return (
          <Question
            key={index}
            thread={thread}
            action={action}
            allowed={allowedOf(interrupt, action)}
            decision={decisions.value[index] ?? null}
            draft={drafts.get(keyOf(thread, action))}
            isLater={later.value[index] ?? false}
            onDecide={(decision) => decide(index, decision)}
            onLater={(isLater) => (later.value = later.value.map((old, at) => (at === index ? isLater : old)))}
            isSeen={seen.value[index] ?? false}
            onSeen={() => (seen.value = seen.value.map((old, at) => old || at === index))}
          />
        );
      })}
      {actions.length > 1 && (
        <div class="send">
          <p role="status">
            {left === 0 ? "All changes are decided." : `${left} of ${actions.length} left to decide.`}
          </p>
          {left > 0 && (
            <button
              type="button"
              title="Possible once all were on the screen"
              disabled={seen.value.includes(false) || isSending.value}
              onClick={approveLeft}
            >
              {left === actions.length ? `Approve all ${left}` : `Approve the other ${left}`}
            </button>
          )}
          <button type="button" class="primary" ref={sending} disabled={left > 0 || isSending.value} onClick={() => void send()}>
            Send the decisions
          </button>
        </div>
      )}
      <Alert text={error.value} />
    </section>
  );
}

function keyOf(thread: string, action: Action): string {
  return JSON.stringify([thread, action.name, action.args]);
}

function allowedOf(interrupt: Interrupt, action: Action): string[] {
  const config = interrupt.value.review_configs?.find(({ action_name }) => action_name === action.name);
  return config?.allowed_decisions ?? ["approve", "reject"];
}
