// Requests to the LangGraph server that serves this page.
import { Client } from "@langchain/langgraph-sdk/client";

import { reach, textOf, UnreachableError } from "./connection";
import { parseExact } from "./exact";
import { refusal } from "./token";

export const ASSISTANT = "restgpt";
/** The graph that undoes the changes of a thread, in a thread of its own. */
export const UNDO = "undo";
const FORBIDDEN = 403;

/** An answer that is an error, with the sentence of the server. */
export class ServerError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Send a request and return the JSON of its answer, with exact numbers. */
export async function call<T>(method: string, path: string, body?: unknown, patience?: number): Promise<T> {
  const request: RequestInit = {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
  };
  const answer = await reach(path, request, patience);
  const text = await textOf(answer);
  const said = answer.ok ? "" : detail(text) || `The server answered ${answer.status}.`;
  refusal.value = answer.status === FORBIDDEN ? said : "";
  if (!answer.ok) throw new ServerError(answer.status, said);
  return (text === "" ? null : parseExact(text)) as T;
}

/** LangGraph's client; it does not try again by itself, because the page says that it does. */
export function client(): Client {
  return new Client({
    apiUrl: location.origin,
    apiKey: null,
    callerOptions: { maxRetries: 0, fetch: reach },
  });
}

/** Return the sentence for a person about an error. */
export function sentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return detail(message.replace(/^HTTP \d+: /, "")) || message;
}

/** Return the sentence about an error of something that is read again by itself; the page says once what all have in common. */
export function readSentence(error: unknown): string {
  return error instanceof UnreachableError ? "" : sentence(error);
}

export function isMissing(error: unknown): boolean {
  return error instanceof ServerError && error.status === 404;
}

function detail(text: string): string {
  try {
    const found = (JSON.parse(text) as { detail?: unknown }).detail;
    return typeof found === "string" ? found : "";
  } catch {
    return "";
  }
}
