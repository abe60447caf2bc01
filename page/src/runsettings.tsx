// The settings of the next run, where one asks: the model, how changes are treated, and which of several APIs.
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { call } from "./server";

interface Choices {
  apis: string[];
  writes: string[];
  model: string;
}

const choices = signal<Choices | null>(null);
/** What was chosen; what is empty is left as it is. */
export const wish = signal({ model: "", writes: "", apis: [] as string[] });

/** The model of a run that begins now, if it is known. */
export const modelNow = computed(() => [wish.value.model || choices.value?.model || ""].filter(Boolean));

const WRITES: Record<string, string> = { deny: "deny changes", "dry-run": "only show changes", ask: "ask before changes", allow: "send changes unasked" };

export function RunSettings() {
  useEffect(() => void call<Choices>("GET", "/settings").then((found) => (choices.value = found)).catch(() => {}), []);
  const found = choices.value;
  if (!found) return null;
  const { model, writes, apis } = wish.value;
  const set = (change: Partial<typeof wish.value>) => (wish.value = { ...wish.value, ...change });
  const told = [model || found.model, WRITES[writes] ?? "", (apis.length ? apis : found.apis).join(", ")].filter(Boolean).join(" · ");
  return (
    <details class="settings">
      <summary>Settings: {told}</summary>
      <div class="field">
        <label for="run-model">Model of the next run</label>
        <input id="run-model" autocomplete="off" placeholder={found.model} value={model} onInput={(event) => set({ model: event.currentTarget.value.trim() })} />
      </div>
      <div class="field">
        <label for="run-writes">Its changes</label>
        <select id="run-writes" value={writes} onChange={(event) => set({ writes: event.currentTarget.value })}>
          <option value="">as configured</option>
          {found.writes.map((name) => (
            <option key={name} value={name}>
              {WRITES[name]}
            </option>
          ))}
        </select>
      </div>
      {found.apis.length > 1 && (
        <fieldset>
          <legend>Its APIs; as configured without a choice</legend>
          {found.apis.map((name) => (
            <label class="check" key={name}>
              <input
                type="checkbox"
                checked={apis.includes(name)}
                onChange={(event) => set({ apis: event.currentTarget.checked ? [...apis, name] : apis.filter((other) => other !== name) })}
              />
              {name}
            </label>
          ))}
        </fieldset>
      )}
    </details>
  );
}
