// The events of a run.
import { client } from "./server";

export const MODES = ["custom", "messages-tuple", "values"] as const;

export interface Part {
  id?: string;
  event: string;
  data: unknown;
}

/** Return the events of a run from the first one on. */
export async function* streamOf(thread: string, run: string, signal: AbortSignal): AsyncGenerator<Part> {
  yield* client().runs.joinStream(thread, run, { signal, streamMode: [...MODES], lastEventId: "-1" });
}
