// A text that may be JSON: as a tree whose parts fold, with colours, or as it is.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { isRawNumber, parseExact } from "./exact";
import { useFew } from "./few";
import { Visible } from "./visible";

/** Parts deeper than this, and with more items than these, are folded at first. */
const DEEP = 3;
const MANY = 20;

/** `plain` is how a text is shown that is no JSON. */
export function Json({ text, label, plain = text }: { text: string; label?: string; plain?: string }) {
  const isRaw = useSignal(false);
  const value = partsOf(text);
  const raw = (
    <pre tabIndex={0} aria-label={label}>
      <Visible text={value ? text : plain} />
    </pre>
  );
  if (!value) return raw;
  return (
    <div class="json">
      <button type="button" class="quiet" aria-pressed={isRaw.value} onClick={() => (isRaw.value = !isRaw.value)}>
        Raw
      </button>
      {isRaw.value ? raw : <div class="tree" tabIndex={0} role="group" aria-label={label ?? "JSON"}><Node value={value} depth={0} /></div>}
    </div>
  );
}

/** The object or list that a text is; null if it is none. */
function partsOf(text: string): object | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return parseExact(text) as object;
  } catch {
    return null;
  }
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const label = name !== undefined && <span class="key"><Visible text={JSON.stringify(name)} />: </span>;
  if (typeof value === "object" && value !== null && !isRawNumber(value)) return <Parts label={label} value={value} depth={depth} />;
  const kind = typeof value === "string" ? "string" : "other";
  return (
    <div>
      {label}
      <span class={kind}>
        <Visible text={JSON.stringify(value)} most={2_000} />
      </span>
    </div>
  );
}

function Parts({ label, value, depth }: { label: ComponentChildren; value: object; depth: number }) {
  const entries = Object.entries(value);
  const isOpen = useSignal(depth < DEEP && (depth === 0 || entries.length <= MANY));
  const { shown, more } = useFew(entries, "items", "first");
  const [start, end] = Array.isArray(value) ? "[]" : "{}";
  if (entries.length === 0) return <div>{label}{start}{end}</div>;
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        {label}
        {start} <span class="own">{entries.length.toLocaleString("en")}</span>{isOpen.value ? "" : ` ${end}`}
      </summary>
      {isOpen.value && (
        <>
          <div class="parts">
            {shown.map(([key, item]) => <Node key={key} name={Array.isArray(value) ? undefined : key} value={item} depth={depth + 1} />)}
            {more}
          </div>
          {end}
        </>
      )}
    </details>
  );
}
