// A permission that a person gives with an approval: which further requests it covers is shown before it is given.
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { exactNumber } from "./exact";
import type { Action, Decision, Offer } from "./protocol";
import { Visible } from "./visible";

/** How many of the values that a permission would have covered are told. */
const TOLD = 3;

export function PermitForm({ action, offer, onClose }: { action: Action; offer: Offer; onClose: (decision: Decision | null) => void }) {
  const pointers = Object.keys(offer.lines);
  const [free, setFree] = useState<string[]>([]);
  const [times, setTimes] = useState(String(offer.times));
  const [hours, setHours] = useState(String(offer.hours));
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  return (
    <form
      class="edit"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        onClose({ type: "approve", permit: { free, times: exactNumber(times), hours: exactNumber(hours) } });
      }}
    >
      <p>
        Further requests of <Visible text={action.name} most={200} /> go out unasked if they are the same
        {pointers.length > 0 ? ", but for what may vary." : " in everything."}
      </p>
      {pointers.length > 0 && (
        <fieldset>
          <legend>May vary</legend>
          {pointers.map((pointer) => (
            <label class="check" key={pointer}>
              <input
                type="checkbox"
                checked={free.includes(pointer)}
                onChange={(event) => setFree(event.currentTarget.checked ? [...free, pointer] : free.filter((other) => other !== pointer))}
              />
              <span>
                <Visible text={offer.lines[pointer]!} most={400} />
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <div class="field">
        <label for={`${id}-times`}>How many requests at most</label>
        <input id={`${id}-times`} type="number" min={1} step={1} required value={times} onInput={(event) => setTimes(event.currentTarget.value)} />
      </div>
      <div class="field">
        <label for={`${id}-hours`}>For how many hours</label>
        <input id={`${id}-hours`} type="number" min={0} step="any" required value={hours} onInput={(event) => setHours(event.currentTarget.value)} />
      </div>
      <p role="status">
        <Visible text={coveredText(offer, free)} most={600} />
      </p>
      <Ends name="Approve and permit" kind="primary" onCancel={() => onClose(null)} />
    </form>
  );
}

/** The buttons of a form in a change that waits. */
export function Ends({ name, kind, onCancel }: { name: string; kind: "primary" | "danger"; onCancel: () => void }) {
  return (
    <div class="choices">
      <button type="submit" class={kind}>{name}</button>
      <button type="button" class="quiet" aria-keyshortcuts="Escape" onClick={onCancel}>Cancel</button>
    </div>
  );
}

/** Which of the other requests of the thread such a permission would have covered, by the rule of the terminal's question. */
function coveredText({ others, of }: Offer, free: string[]): string {
  if (of === 0) return "The thread has no other request of this operation to compare with.";
  const covered = others.filter(({ differs, outside }) => outside.length === 0 && Object.keys(differs).every((pointer) => free.includes(pointer)));
  const values = covered.slice(0, TOLD).map(({ differs }) => JSON.stringify(Object.values(differs)));
  const told = covered.some(({ differs }) => Object.keys(differs).length > 0) ? `, such as ${values.join(", ")}` : "";
  return `It would have covered ${covered.length} of the ${of} other requests of this operation in the thread${told}.`;
}
