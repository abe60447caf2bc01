// The programs of a thread: their code, and beside each line the calls that it made, with state and answer.
import { computed } from "@preact/signals";

import { calls, callsError, outcomeOf, type WireCall } from "./calls";
import { threadId } from "./conversation";
import { useFew } from "./few";
import { checkpoints, historyError } from "./history";
import { addressOf, go } from "./place";
import { resultOf } from "./progress";
import type { Program } from "./protocol";
import { Alert, Visible } from "./visible";
import { openCall } from "./wire";

interface Written {
  key: string;
  turn: number;
  task: number;
  program: Program;
  /** What it reported, or why it failed. */
  result: string;
}

/** The newest record of each program, in the order in which they were written. */
const programs = computed<Written[]>(() => {
  const found = new Map<string, Written>();
  for (const { values } of [...checkpoints.value.values()].reverse()) {
    const [turn, task, program] = [values.turn ?? 0, values.task ?? 0, values.program];
    if (!program) continue;
    const key = `${turn} ${task} ${program.number} ${program.code}`;
    const step = (values.steps ?? []).findLast((done) => done.turn === turn && done.program?.code === program.code);
    found.set(key, { key, turn, task, program, result: resultOf(program, step?.result) || program.feedback || "" });
  }
  return [...found.values()];
});

/** A call at a line of a program; one of an earlier program whose answer this one took was replayed. */
interface Made {
  call: WireCall;
  line: number;
  isReplayed: boolean;
}

function madeBy({ turn, task, program }: Written): Made[] {
  const taken = new Set(Object.values(program.taken ?? {}));
  const lines = program.code.split("\n").map((line) => line.trim());
  return (calls.value ?? []).flatMap((call): Made[] => {
    if (!call.place) return [];
    const isOwn = call.turn === turn && call.task === task && call.place.program === program.number;
    if (isOwn) return [{ call, line: call.place.line, isReplayed: false }];
    return taken.has(call.id) ? [{ call, line: lines.indexOf(call.place.source) + 1, isReplayed: true }] : [];
  });
}

export function ProgramView() {
  const error = historyError.value || callsError.value;
  if (error) return <Alert text={error} />;
  if (calls.value === null) return <p class="own">Reading the programs …</p>;
  if (programs.value.length === 0) return <p class="own">No program ran in this thread.</p>;
  return <Programs all={programs.value} />;
}

function Programs({ all }: { all: Written[] }) {
  const { shown, more } = useFew(all, "programs", "last");
  return (
    <>
      {more && <p>{more}</p>}
      {shown.map((written) => (
        <Code key={written.key} written={written} />
      ))}
    </>
  );
}

function Code({ written }: { written: Written }) {
  const { program, turn, task } = written;
  const made = madeBy(written);
  const name = `Program ${program.number} of task ${task} in turn ${turn}`;
  const failed = program.end === "failed" ? Number(/(?:failed on line|^Line) (\d+)/m.exec(written.result)?.[1] ?? 0) : 0;
  const strays = made.filter(({ line }) => line < 1);
  return (
    <section class="section" aria-label={name}>
      <h3>{name}</h3>
      <p class="own">
        written by the {program.writer}, {program.end ?? program.status}
      </p>
      <ol class="code">
        {program.code.split("\n").map((line, index) => (
          <li key={index}>
            <span class="number">{index + 1}</span>
            <code>
              <Visible text={line} />
            </code>
            <div class="made">
              {index + 1 === failed && <span class="badge refused">failed here</span>}
              <CallList made={made.filter((item) => item.line === index + 1)} />
            </div>
          </li>
        ))}
      </ol>
      {strays.length > 0 && <p class="own">Calls of no line of this program:</p>}
      <CallList made={strays} />
      {written.result && (
        <pre tabIndex={0} aria-label={`Result of program ${program.number}`}>
          <Visible text={written.result} most={2_000} />
        </pre>
      )}
    </section>
  );
}

function CallList({ made }: { made: Made[] }) {
  const { shown, more } = useFew(made, "calls", "last");
  if (made.length === 0) return null;
  return (
    <ul class="made">
      {more && <li>{more}</li>}
      {shown.map((item) => (
        <CallLine key={item.call.id} made={item} />
      ))}
    </ul>
  );
}

function CallLine({ made: { call, isReplayed } }: { made: Made }) {
  const outcome = outcomeOf(call);
  const state = isReplayed ? "replayed" : outcome.state;
  return (
    <li>
      <span class={`badge ${outcome.isGood ? state : "refused"}`}>{state}</span>{" "}
      <button
        type="button"
        class="quiet"
        onClick={() => {
          openCall(call.id);
          go(addressOf(threadId.value ?? "", "wire"));
        }}
      >
        <Visible text={call.operation} most={100} />
      </button>{" "}
      <span class={outcome.isGood ? "outcome" : "outcome bad"}>
        <Visible text={outcome.text} most={200} />
      </span>
      {call.response.sketch && (
        <div class="shape">
          <Visible text={call.response.sketch} most={300} />
        </div>
      )}
    </li>
  );
}
