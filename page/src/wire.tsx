// The requests and answers of a thread, and where each value of a request came from.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { answeredBy, calls, callsError, requestCount, nameOf, outcomeOf, readPiece, type Origin, type Piece, type WireCall } from "./calls";
import { curlOf } from "./curl";
import { indented, writeExact } from "./exact";
import { useFew } from "./few";
import { Json } from "./json";
import { parentOf, tokensOf, valueAt } from "./pointer";
import { sentence } from "./server";
import { Alert, Visible } from "./visible";

/** A place in a body that is shown: of which call, and which value in it is meant. */
interface Look {
  call: string;
  pointer: string;
  page: number;
  /** The place of a value that was asked for, and the text that is there. */
  meant?: string;
}

const opened = signal<Set<string>>(new Set());
const looks = signal<Map<string, Look>>(new Map());
/** The call whose answer gets the focus once it is drawn. */
const wanted = signal<string | null>(null);

export function Wire() {
  if (callsError.value) return <Alert text={callsError.value} />;
  if (calls.value === null) return <p class="own">Reading the requests …</p>;
  return (
    <>
      <p class="own" role="status">
        {calls.value.length === 1 ? "1 request" : `${calls.value.length} requests`}
      </p>
      {requestCount.value > calls.value.length && (
        <p class="own">
          The cost counts {requestCount.value} requests: the others read further pages, looked at what a change would change, or tried again.
        </p>
      )}
      <CallList all={calls.value} />
    </>
  );
}

function CallList({ all }: { all: WireCall[] }) {
  const { shown, start, more } = useFew(all, "requests", "last");
  const early = all.slice(0, start).filter((made) => opened.value.has(made.id));
  const numbers = new Map(all.map((made, index) => [made.id, index + 1]));
  return (
    <>
      {more && <p>{more}</p>}
      <ol class="steps" aria-label="Requests">
        {[...early, ...shown].map((made) => (
          <li key={made.id}>
            <CallView made={made} number={numbers.get(made.id) ?? 0} />
          </li>
        ))}
      </ol>
    </>
  );
}

/** Open a call, and let it get the focus once it is drawn. */
export function openCall(id: string): void {
  open(id, true);
  wanted.value = id;
}

function open(id: string, isOpen: boolean): void {
  if (opened.value.has(id) === isOpen) return;
  const next = new Set(opened.value);
  if (isOpen) next.add(id);
  else next.delete(id);
  opened.value = next;
}

function CallView({ made, number }: { made: WireCall; number: number }) {
  const outcome = outcomeOf(made);
  const isOpen = opened.value.has(made.id);
  return (
    <details open={isOpen} onToggle={(event) => open(made.id, event.currentTarget.open)}>
      <summary>
        <span class="request">
          <span class={`method ${made.request?.method ?? ""}`}>
            {number} {made.request?.method}
          </span>
          <span class="url">
            <Visible text={made.request?.url ?? made.operation} most={400} isOnePiece />
          </span>
          <span class={outcome.isGood ? "outcome" : "outcome bad"}>
            <Visible text={outcome.text} most={200} />
          </span>
        </span>
      </summary>
      {isOpen && (
        <article class="section" aria-label={nameOf(made)}>
          <Sent made={made} />
          <Values made={made} />
          <Answer made={made} />
        </article>
      )}
    </details>
  );
}

function Sent({ made }: { made: WireCall }) {
  const { request } = made;
  return (
    <section class="section" aria-label={`Request of ${made.operation}`}>
      <h3>Request</h3>
      <p class="own">
        <Visible text={made.operation} most={200} />
        {made.isNoted && ", as the journal of changes holds it"}
      </p>
      {!request && <p class="own">It cannot be built again, because the document has changed.</p>}
      {request && <Headers headers={request.headers} />}
      {request && request.body !== null && <BodyView made={made} side="request" />}
      {request && <Curl made={made} />}
      {outcomeOf(made).state !== "sent" && made.note && (
        <p class="problem">
          <Visible text={made.note} />
        </p>
      )}
    </section>
  );
}

function Curl({ made }: { made: WireCall }) {
  const told = useSignal("");
  const copy = async () => {
    try {
      const body = made.request!.body === null ? null : await readPiece(made.id, "request", "", 1);
      await navigator.clipboard.writeText(curlOf(made.request!, body));
      told.value = "Copied, without credentials.";
    } catch (error) {
      told.value = sentence(error);
    }
  };
  return (
    <p class="choices">
      <button type="button" onClick={() => void copy()}>
        Copy as curl
      </button>
      <span class="own" role="status">
        {told.value}
      </span>
    </p>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const named = Object.entries(headers);
  if (named.length === 0) return null;
  return (
    <details>
      <summary>{named.length === 1 ? "1 header" : `${named.length} headers`}</summary>
      <pre tabIndex={0}>
        <Visible text={named.map(([name, value]) => `${name}: ${value}`).join("\n")} />
      </pre>
    </details>
  );
}

const ORIGINS: Record<Origin["origin"], string> = {
  user: "you said it",
  document: "the API's document has it",
  response: "read from an answer",
  model: "the model wrote it",
  program: "the program computed it",
};

function Values({ made }: { made: WireCall }) {
  if (made.provenance.length === 0) return null;
  return (
    <section class="section" aria-label={`Values of ${made.operation}`}>
      <h3>Where each value came from</h3>
      <ul class="values">
        {made.provenance.map((origin) => (
          <li key={origin.pointer}>
            <span class="wire">
              <Visible text={tokensOf(origin.pointer).join(".")} most={200} />
              {" = "}
              <Visible text={shownValue(valueAt(made.arguments, origin.pointer))} most={200} />
            </span>
            {!origin.places?.length && <span class="own">{ORIGINS[origin.origin]}</span>}
            {origin.places?.map((place) => (
              <Source key={`${place.handle} ${place.at}`} made={made} place={place} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

function shownValue(value: unknown): string {
  return typeof value === "string" ? value : writeExact(value);
}

function Source({ made, place }: { made: WireCall; place: { handle: string; at: string } }) {
  const source = answeredBy(place.handle, made);
  if (!source) return <span class="own">read from an answer that is not in this thread</span>;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => {
        open(source.id, true);
        look({ call: source.id, pointer: parentOf(place.at), page: 1, meant: place.at });
        wanted.value = source.id;
      }}
    >
      read from the answer of {source.operation}, at <Visible text={place.at || "/"} most={200} />
    </button>
  );
}

function look(at: Look, side = "answer"): void {
  looks.value = new Map(looks.value).set(`${at.call} ${side}`, at);
}

function Answer({ made }: { made: WireCall }) {
  const { status, media_type: type, size, handle, headers, notices } = made.response;
  if (status === undefined) return null;
  return (
    <section class="section" aria-label={`Answer of ${made.operation}`}>
      <h3>Answer</h3>
      <p class="own">
        {status} · <Visible text={type || "no type"} most={100} /> · {(size ?? 0).toLocaleString("en")} bytes
      </p>
      {(notices ?? []).map((notice) => (
        <p class="note" key={notice}>
          <Visible text={notice} most={400} />
        </p>
      ))}
      <Headers headers={headers ?? {}} />
      {handle && (size ?? 0) > 0 && <BodyView made={made} side="answer" />}
    </section>
  );
}

/** Kinds of pieces whose content is JSON. */
const READ_AS_JSON = ["list", "object"];

interface Read {
  piece?: Piece;
  value?: string;
  error?: string;
}

const read = signal<Map<string, Read>>(new Map());

function BodyView({ made, side }: { made: WireCall; side: "request" | "answer" }) {
  const key = `${made.id} ${side}`;
  const at = looks.value.get(key) ?? { call: made.id, pointer: "", page: 1 };
  const shown = read.value.get(key);
  const place = useRef<HTMLDivElement>(null);
  const version = `${at.pointer} ${at.page} ${at.meant ?? ""} ${made.response.handle ?? ""}`;
  useEffect(() => {
    let isLeft = false;
    void fetched(made.id, side, at).then((found) => {
      if (!isLeft) read.value = new Map(read.value).set(key, found);
    });
    return () => (isLeft = true);
  }, [key, version]);
  useEffect(() => {
    if (side !== "answer" || wanted.value !== made.id || !shown) return;
    wanted.value = null;
    place.current?.focus();
    place.current?.scrollIntoView({ block: "nearest" });
  }, [wanted.value, shown]);
  const go = (pointer: string, page = 1) => look({ call: made.id, pointer, page }, side);
  const tokens = tokensOf(at.pointer);
  return (
    <div class="section" ref={place} tabIndex={-1} role="group" aria-label={`Body of the ${side} of ${made.operation}`}>
      {tokens.length > 0 && (
        <p class="crumbs">
          <button type="button" class="quiet" onClick={() => go("")}>
            whole body
          </button>
          {tokens.map((token, index) => (
            <button type="button" class="quiet" key={index} onClick={() => go(at.pointer.split("/").slice(0, index + 2).join("/"))}>
              / <Visible text={token} most={60} />
            </button>
          ))}
        </p>
      )}
      {shown?.error && <p class="problem">{shown.error}</p>}
      {at.meant !== undefined && shown?.value !== undefined && (
        <p class="meant">
          At <Visible text={at.meant || "/"} most={200} />:{" "}
          <mark>
            <Visible text={shown.value} most={400} />
          </mark>
        </p>
      )}
      {shown?.piece && (
        <>
          <Json
            text={shown.piece.content}
            label={`Piece of the ${side}`}
            plain={READ_AS_JSON.includes(shown.piece.kind) ? indented(shown.piece.content) : undefined}
          />
          <Around piece={shown.piece} go={go} />
        </>
      )}
    </div>
  );
}

/** Where a piece is in its body, and the ways to others. */
function Around({ piece, go }: { piece: Piece; go: (pointer: string, page?: number) => void }) {
  const noun = { list: "items", object: "fields", binary: "bytes" }[piece.kind] ?? "characters";
  const isWhole = piece.pages <= 1 && !piece.isCut;
  if (isWhole) return null;
  return (
    <form
      class="choices"
      onSubmit={(event) => {
        event.preventDefault();
        go(String(new FormData(event.currentTarget).get("pointer") ?? ""));
      }}
    >
      <span class="own" role="status">
        {noun} {piece.start.toLocaleString("en")} to {(piece.stop - 1).toLocaleString("en")} of {piece.total.toLocaleString("en")}
        {piece.isCut && "; some are shortened"}
      </span>
      <button type="button" disabled={piece.page <= 1} onClick={() => go(piece.pointer, piece.page - 1)}>
        Previous
      </button>
      <button type="button" disabled={piece.page >= piece.pages} onClick={() => go(piece.pointer, piece.page + 1)}>
        Next
      </button>
      {piece.isCut && <input name="pointer" aria-label="JSON pointer of the value to read" placeholder="/items/0" class="pointer" />}
      {piece.isCut && <button type="submit">Read</button>}
    </form>
  );
}

async function fetched(id: string, side: "request" | "answer", at: Look): Promise<Read> {
  try {
    const piece = await readPiece(id, side, at.pointer, at.page);
    const value = at.meant === undefined ? undefined : (await readPiece(id, side, at.meant, 1)).content;
    return { piece, value };
  } catch (error) {
    return { error: sentence(error) };
  }
}
