// What a person can do with a run besides talking to it.
import type { ComponentChildren } from "preact";

import { Compare } from "./compare";
import { Fork } from "./fork";
import { isAgent } from "./conversation";
import { head, historyError } from "./history";
import { Recipes } from "./recipe";
import { Undo } from "./undo";
import { Alert } from "./visible";

export function Steer() {
  if (historyError.value) return <Alert text={historyError.value} />;
  if (!head.value) return <p class="own">Reading the steps …</p>;
  return (
    <>
      {isAgent.value && (
        <Part name="Fork">
          <Fork />
        </Part>
      )}
      {isAgent.value && (
        <Part name="Undo">
          <Undo />
        </Part>
      )}
      {isAgent.value && (
        <Part name="Recipe">
          <Recipes />
        </Part>
      )}
      <Part name="Compare">
        <Compare />
      </Part>
    </>
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
