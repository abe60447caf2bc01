// The whole of a body that a question shows only in part, from the state of the thread.
import { useState } from "preact/hooks";

import { parseExact, writeExact } from "./exact";
import type { Action, State } from "./protocol";
import { call, sentence } from "./server";
import { Visible } from "./visible";

export function WholeBody({ thread, action }: { thread: string; action: Action }) {
  const [body, setBody] = useState<string | null>(null);
  const [error, setError] = useState("");
  const read = async () => {
    try {
      const state = await call<State>("GET", `/threads/${encodeURIComponent(thread)}/state`);
      const same = JSON.stringify(action.args);
      const found = (state.values.requests ?? []).find(
        (request) => request.status === "asked" && request.operation === action.name && JSON.stringify(request.arguments) === same,
      );
      const kept = found?.exact === undefined ? (found?.settled ?? found?.arguments) : parseExact(found.exact);
      setBody(textOf(kept as { body?: unknown } | undefined));
    } catch (failed) {
      setError(sentence(failed));
    }
  };
  if (error) return <p class="problem">{error}</p>;
  if (body === null) {
    return (
      <button type="button" class="quiet" onClick={() => void read()}>
        Show the whole body
      </button>
    );
  }
  return (
    <pre class="whole" tabIndex={0} aria-label="The whole body">
      <Visible text={body} />
    </pre>
  );
}

function textOf(kept: { body?: unknown } | undefined): string {
  return typeof kept?.body === "string" ? kept.body : writeExact(kept?.body ?? null);
}
