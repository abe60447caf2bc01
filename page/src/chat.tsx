// A thread: what was said, what the run does, the questions before changes, and the field for the next instruction.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import * as conversation from "./conversation";
import { useFew } from "./few";
import { Decided, Pause } from "./pause";
import { addressOf, go } from "./place";
import { Markdown } from "./markdown";
import { FAILED, type Line } from "./progress";
import type { Message } from "./protocol";
import { modelNow, RunSettings } from "./runsettings";
import { waitingCount } from "./threads";
import { Alert, Visible } from "./visible";

export function Chat({ id }: { id: string | null }) {
  const end = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const drawn = useSignal(0);
  useSignalEffect(() => {
    // Whatever of these changes may make the thread longer.
    void [conversation.messages.value, conversation.lines.value, conversation.questions.value, conversation.runId.value];
    drawn.value = drawn.peek() + 1;
  });
  useLayoutEffect(() => {
    // A reader who has scrolled up is left where they are; at the end, questions are shown from their start.
    if (isAtEnd.current && conversation.questions.value.length === 0) end.current?.scrollIntoView({ block: "end" });
  }, [drawn.value]);
  const isRunning = conversation.runId.value !== null || conversation.isStarting.value;
  return (
    <div class="chat">
      <div
        class="scroller"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        onScroll={({ currentTarget: at }) => (isAtEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40)}
      >
        <div class="column">
          {conversation.messages.value.length === 0 && !isRunning && <Welcome isNew={id === null} />}
          <Turns isRunning={isRunning} />
          {id !== null && <Decided thread={id} />}
          {conversation.questions.value.map((interrupt) => (
            <Pause key={interrupt.id} thread={conversation.threadId.value ?? ""} interrupt={interrupt} />
          ))}
          <Alert text={conversation.failure.value} />
          {conversation.canGoOn.value && (
            <p class="choices">
              <span class="own">The run has not ended.</span>
              <button type="button" onClick={() => void conversation.goOn()}>
                Resume
              </button>
            </p>
          )}
          <div ref={end} />
        </div>
      </div>
      {conversation.isAgent.value ? <Composer isRunning={isRunning} /> : <div />}
    </div>
  );
}

function Welcome({ isNew }: { isNew: boolean }) {
  if (!isNew) return <p class="own">Reading the thread …</p>;
  return (
    <div class="welcome">
      <h2>What should be done?</h2>
      <p class="own">
        The agent plans, calls the configured APIs, and asks you before each change.
        {waitingCount.value > 0 && " Some changes wait in the inbox."}
      </p>
    </div>
  );
}

function Turns({ isRunning }: { isRunning: boolean }) {
  const turns: Message[][] = [];
  for (const message of conversation.messages.value) {
    if (message.type === "human" || turns.length === 0) turns.push([message]);
    else turns.at(-1)!.push(message);
  }
  const { shown, start, more } = useFew(turns, "turns", "last");
  return (
    <>
      {more}
      {shown.map(([first, ...answers], at) => [start + at, first!, answers] as const).map(([index, first, answers]) => (
        <div class="turn" key={index}>
          <p class="said">
            <Visible text={first.content} />
          </p>
          <Progress
            lines={conversation.lines.value.get(index + 1) ?? []}
            isLast={index === turns.length - 1}
            isLive={isRunning && index === turns.length - 1}
          />
          {answers.map((message) => (
            <div class="answer" key={message.id}>
              <Markdown text={message.content} hosts={hostsOf(conversation.lines.value.get(index + 1) ?? [])} />
            </div>
          ))}
        </div>
      ))}
    </>
  );
}

/** The hosts that a run has called. */
function hostsOf(lines: Line[]): string[] {
  return lines.flatMap((line) => (line.kind === "request" && URL.canParse(line.url) ? [new URL(line.url).host] : []));
}

function Progress({ lines: all, isLast, isLive }: { lines: Line[]; isLast: boolean; isLive: boolean }) {
  const { shown: lines, more } = useFew(all, "lines", "last");
  if (lines.length === 0 && !isLive) return null;
  return (
    <div class="progress">
      {more}
      <ol aria-label="Progress">
        {lines.map((line) => (
          <li key={line.key}>
            <LineView line={line} />
          </li>
        ))}
      </ol>
      {isLast && (
        <p class="live" role="status">
          {isLive && (conversation.isStopping.value ? "Stopping …" : <Working />)}
        </p>
      )}
    </div>
  );
}

/** How long a run has been at work on this page, and with which model; a screen reader need not hear each second. */
function Working() {
  const seconds = useSignal(0);
  useEffect(() => {
    const clock = setInterval(() => (seconds.value += 1), 1_000);
    return () => clearInterval(clock);
  }, []);
  return (
    <>
      Working …<span aria-hidden="true">{[` ${seconds.value} s`, ...modelNow.value].join(" · ")}</span>
    </>
  );
}

function LineView({ line }: { line: Line }) {
  if (line.kind === "task") return <Visible text={line.text} most={400} />;
  if (line.kind === "request") {
    return (
      <span class="request">
        <span class={`method ${line.method}`}>{line.method}</span>
        <span class="url">
          <Visible text={line.url} most={400} isOnePiece />
        </span>
        <span class={line.isGood ? "outcome" : "outcome bad"}>{line.outcome}</span>
      </span>
    );
  }
  return (
    <Folded label={line.label} isFirstOpen={line.label === FAILED}>
      <pre tabIndex={0}>
        <Visible text={line.text} />
      </pre>
    </Folded>
  );
}

/** Something that is drawn only where it is open. */
function Folded({ label, isFirstOpen, children }: { label: string; isFirstOpen: boolean; children: ComponentChildren }) {
  const isOpen = useSignal(isFirstOpen);
  return (
    <details open={isFirstOpen} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen.value && children}
    </details>
  );
}

function Composer({ isRunning }: { isRunning: boolean }) {
  const text = useSignal("");
  const field = useRef<HTMLTextAreaElement>(null);
  const shown = useRef<string | null>(null);
  const waits = conversation.questions.value.length > 0;
  const id = conversation.threadId.value;
  useEffect(() => {
    // Where nothing has the focus, because the button that had it is gone, too.
    if (!waits && (document.activeElement === document.body || shown.current !== id)) field.current?.focus();
    shown.current = id;
  }, [id, waits]);
  const send = async () => {
    const said = text.value.trim();
    if (!said || isRunning || waits) return;
    text.value = "";
    const before = conversation.threadId.value;
    const thread = await conversation.say(said);
    if (thread !== null && before === null) go(addressOf(thread));
    if (conversation.failure.value && conversation.runId.value === null) text.value = said;
  };
  return (
    <div class="bottom" hidden={waits}>
     <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label for="instruction">Instruction</label>
      <textarea
        id="instruction"
        ref={field}
        rows={2}
        placeholder="What should be done, in your words"
        disabled={waits}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="below">
        <span class="cost">{conversation.cost.value}</span>
        {isRunning ? (
          <button type="button" disabled={!conversation.runId.value || conversation.isStopping.value} onClick={() => void conversation.stop()}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!text.value.trim() || waits}>
            Send
          </button>
        )}
      </div>
      <RunSettings />
     </form>
    </div>
  );
}
