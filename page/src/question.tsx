// One change that waits for a person: exactly what will be sent, where it comes from, and the decision.
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { problemsOf, sectionsOf, textOf, withoutNote, type Section } from "./description";
import { Field } from "./form";
import { Ends, PermitForm } from "./permit";
import type { Action, Decision } from "./protocol";
import { schemaOf, type Schema } from "./schema";
import { Alert, Visible } from "./visible";
import { WholeBody } from "./wholebody";

const REQUEST = "The request, but";
const BODY = "Its body";
const CREDENTIAL = "a configured credential";

export interface QuestionProps {
  thread: string;
  action: Action;
  allowed: string[];
  decision: Decision | null;
  /** The arguments of an edit that was sent and came back. */
  draft: Record<string, unknown> | undefined;
  isLater: boolean;
  onDecide: (decision: Decision | null) => void;
  onLater: (isLater: boolean) => void;
  isSeen: boolean;
  /** Told once the end of the question has been on the screen. */
  onSeen: () => void;
}

export function Question(props: QuestionProps) {
  const { thread, action, decision, isLater, onSeen } = props;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // What the buttons at the lower edge cover was not seen.
    const bar = end.current?.parentElement?.querySelector<HTMLElement>(":scope > .choices");
    const covered = bar ? bar.offsetHeight + (parseFloat(getComputedStyle(bar).bottom) || 0) : 0;
    const watched = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) onSeen();
      },
      { rootMargin: `0px 0px -${Math.ceil(covered)}px` },
    );
    if (end.current) watched.observe(end.current);
    return () => watched.disconnect();
  }, [isLater]);
  const { note, rest } = withoutNote(sectionsOf(action.description));
  const request = rest.find((section) => section.label.startsWith(REQUEST));
  const body = rest.find((section) => section.label.startsWith(BODY));
  const others = rest.filter((section) => section !== request && section !== body);
  const [line = "", ...headers] = textOf(request).split("\n");
  const details = sectionsOf(action.details ?? "");
  const [method, ...address] = line.split(" ");
  // The state of the thread has the body as it will be sent, in which a credential is not hidden.
  const isWholeKept = body?.label.includes("too long") && !rest.some((section) => section.label.includes(CREDENTIAL));
  const title = `${action.request.method} ${action.name}`;
  return (
    <article class={`question${decision ? " decided" : ""}`} aria-label={title} tabIndex={-1}>
      <header>
        <h3 class="wire">
          <span class={`method ${method}`}>{method}</span> <Visible text={address.join(" ")} isOnePiece />
        </h3>
        {decision ? (
          <span class={`decision ${decision.type}`}>{nameOf(decision)}</span>
        ) : (
          <span class="own">{isLater ? "Later" : <Visible text={action.name} most={200} />}</span>
        )}
      </header>
      {!isLater && (
        <>
          {body && (
            <div class="section">
              <h4>{body.label}</h4>
              <pre>
                <Quotation section={body} />
              </pre>
              {isWholeKept && <WholeBody thread={thread} action={action} />}
            </div>
          )}
          {others.map((section, index) => (
            <SectionView section={section} key={index} />
          ))}
          {headers.length > 0 && <SectionView section={{ label: "Headers that it gives:", quote: [{ text: headers.join("\n"), isRemark: false }] }} />}
          <details>
            <summary>All else: headers, program, origins</summary>
            {details.map((section, index) => (
              <SectionView section={section} key={index} />
            ))}
            <Said action={action} />
          </details>
          <div class="end" ref={end} />
        </>
      )}
      <Choice {...props} note={note} />
    </article>
  );
}

/** Labels of quotations that are data, not sentences. */
const DATA = /^(As it is now|Changes|About|Files that|Headers)/;

const DECIDED = { approve: "Approved", edit: "Edited", reject: "Rejected" };

function nameOf(decision: Decision): string {
  return decision.type === "approve" && decision.permit ? "Approved, and the next ones too" : DECIDED[decision.type];
}

function SectionView({ section }: { section: Section }) {
  const [first] = section.quote;
  const isShort = section.quote.length === 1 && !first!.isRemark && !first!.text.includes("\n");
  if (section.quote.length === 0 || isShort) {
    return (
      <p class="short">
        <span class="own">
          <Visible text={section.label} />
        </span>{" "}
        <Visible text={first?.text ?? ""} />
      </p>
    );
  }
  return (
    <div class="section">
      <h4>
        <Visible text={section.label} />
      </h4>
      <pre class={DATA.test(section.label) ? "plain data" : "plain"}>
        <Quotation section={section} />
      </pre>
    </div>
  );
}

function Quotation({ section }: { section: Section }) {
  return (
    <>
      {section.quote.map(({ text, isRemark }, index) =>
        isRemark ? (
          <span class="remark" key={index}>
            {text}
          </span>
        ) : (
          <Visible text={text} key={index} isOnePiece />
        ),
      )}
    </>
  );
}

/** The arguments that the description does not list, because the user or the document of the API gave them. */
function Said({ action }: { action: Action }) {
  const of = (origin: string) =>
    (action.provenance ?? []).filter((item) => item.origin === origin).map((item) => item.pointer.slice(1).replaceAll("/", "."));
  const told = [
    ...of("user").map((name) => `${name}: you said it`),
    ...of("document").map((name) => `${name}: the API's document fixes it`),
  ];
  return told.length > 0 ? <SectionView section={{ label: "From your instruction or the document:", quote: [{ text: told.join("\n"), isRemark: false }] }} /> : null;
}

type Mode = "choose" | "edit" | "reject" | "permit";

/** The buttons of a change; they approve nothing whose end was not on the screen. */
function Choice(props: QuestionProps & { note: string }) {
  const { action, allowed, decision, isLater, isSeen, note, onDecide, onLater } = props;
  const [mode, setMode] = useState<Mode>(note && allowed.includes("edit") && props.draft ? "edit" : "choose");
  const back = useRef<HTMLButtonElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // The button that was pressed is gone, so its place takes the focus.
    if (!isFirst.current && document.activeElement === document.body) back.current?.focus();
    isFirst.current = false;
  }, [decision]);
  const close = (made: Decision | null) => {
    setMode("choose");
    if (made) onDecide(made);
    else requestAnimationFrame(() => back.current?.focus());
  };
  if (mode === "edit") return <EditForm {...props} onClose={close} />;
  if (mode === "reject") return <RejectForm onClose={close} />;
  if (mode === "permit" && action.permit) return <PermitForm action={action} offer={action.permit} onClose={close} />;
  const choose = (next: Mode) => () => setMode(next);
  return (
    <>
      <Alert text={note} />
      <div class="choices">
        {decision ? (
          <button type="button" ref={back} onClick={() => onDecide(null)}>
            Change the decision
          </button>
        ) : (
          <>
            <button type="button" ref={back} class="primary" aria-keyshortcuts="a" disabled={!isSeen} onClick={() => onDecide({ type: "approve" })}>
              Approve
            </button>
            {action.permit && (
              <button type="button" aria-keyshortcuts="n" disabled={!isSeen} onClick={choose("permit")}>
                Next ones too…
              </button>
            )}
            {action.effect && (
              <button type="button" title={action.effect.reason} disabled={!isSeen} onClick={() => onDecide(action.effect!.confirm)}>
                Approve, and do not ask again: it only reads
              </button>
            )}
            {allowed.includes("edit") && (
              <button type="button" aria-keyshortcuts="e" onClick={choose("edit")}>
                Edit…
              </button>
            )}
            <button type="button" aria-keyshortcuts="r" onClick={choose("reject")}>
              Reject…
            </button>
            <button type="button" class="quiet" aria-pressed={isLater} onClick={() => onLater(!isLater)}>
              Later
            </button>
            {!isSeen && !isLater && <span class="own">To approve it, read to its end.</span>}
          </>
        )}
      </div>
    </>
  );
}

function firstOf(form: HTMLElement | null, ...selectors: string[]): HTMLElement | undefined {
  return selectors.map((selector) => form?.querySelector<HTMLElement>(selector)).find((found) => found) ?? undefined;
}

function RejectForm({ onClose }: { onClose: (decision: Decision | null) => void }) {
  const [reason, setReason] = useState("");
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        onClose({ type: "reject", message: reason });
      }}
    >
      <div class="field">
        <label for={id}>Reason, which the agent reads</label>
        <input id={id} ref={field} type="text" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </div>
      <Ends name="Reject" kind="danger" onCancel={() => onClose(null)} />
    </form>
  );
}

function EditForm({ action, draft, note, onClose }: QuestionProps & { note: string; onClose: (decision: Decision | null) => void }) {
  const [schema, setSchema] = useState<Schema | null | undefined>(undefined);
  const [args, setArgs] = useState<Record<string, unknown>>(draft ?? action.args);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  useEffect(() => void schemaOf(action.name).then((found) => setSchema(found)), [action.name]);
  useEffect(() => {
    if (schema !== undefined) firstOf(form.current, '[aria-invalid="true"]', "input, select, textarea")?.focus();
  }, [schema]);
  if (schema === undefined) return <p class="own">Reading the schema of {action.name} …</p>;
  const problems = problemsOf(note);
  const general = problems.get("");
  return (
    <form
      class="edit"
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onClose({ type: "edit", edited_action: { name: action.name, args } });
      }}
    >
      <Alert text={note && (general ?? "The edit does not fit the operation. The fields below say why.")} />
      <Field
        id={id}
        name={`Arguments of ${action.name}`}
        schema={schema ?? {}}
        root={schema ?? {}}
        value={args}
        isRequired
        pointer=""
        problems={new Map([...problems].filter(([pointer]) => pointer !== ""))}
        onChange={(changed) => setArgs((changed ?? {}) as Record<string, unknown>)}
      />
      <Ends name="Use the edit" kind="primary" onCancel={() => onClose(null)} />
    </form>
  );
}
