// What a person can do with a run besides talking to it.
import type { ComponentChildren } from "preact";

import { Fork } from "./fork";
import { head, historyError } from "./history";

export function Steer() {
  if (historyError.value) return <p class="problem" role="alert">{historyError.value}</p>;
  if (!head.value) return <p class="own">Reading the steps …</p>;
  return (
    <Part name="Fork">
      <Fork />
    </Part>
  );
}

function Part({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section class="part" aria-label={name}>
      <h3>{name}</h3>
      {children}
    </section>
  );
}
