// Recipes: the newest run of the thread is saved as one, and a saved one runs again with other inputs, without a model.
import { signal, useSignal } from "@preact/signals";

import { runRecipe, threadId } from "./conversation";
import { followThread } from "./follow";
import { Field } from "./form";
import { addressOf, go } from "./place";
import type { Schema } from "./schema";
import { call, readSentence, sentence } from "./server";
import { Alert, Visible } from "./visible";

interface Saved {
  recipe: { name: string; description?: string; inputs?: Schema };
  /** The recipe as a file. */
  text: string;
  examples: Record<string, unknown>;
}

/** Where the server's store keeps the recipes of this page. */
const NAMESPACE = ["restgpt", "page", "recipes"];
const MOST = 100;

const saved = signal<Saved[]>([]);
const error = signal("");

async function readSaved(): Promise<void> {
  try {
    const found = await call<{ items: { value: Saved }[] }>("POST", "/store/items/search", { namespace_prefix: NAMESPACE, limit: MOST });
    saved.value = found.items.map((item) => item.value);
  } catch (failed) {
    error.value = readSentence(failed);
  }
}

followThread(["steer"], readSaved, () => (error.value = ""));

async function save(name: string): Promise<void> {
  error.value = "";
  try {
    const given = new URLSearchParams({ thread: threadId.value ?? "", name });
    const made = await call<Saved>("GET", `/debug/recipe?${given}`);
    await call("PUT", "/store/items", { namespace: NAMESPACE, key: name, value: made });
    await readSaved();
  } catch (failed) {
    error.value = sentence(failed);
  }
}

export function Recipes() {
  const name = useSignal("");
  return (
    <>
      <form
        class="choices"
        onSubmit={(event) => {
          event.preventDefault();
          void save(name.value.trim());
        }}
      >
        <label for="recipe-name">Save this run as</label>
        <input
          id="recipe-name"
          class="pointer"
          required
          placeholder="spring-garden"
          value={name.value}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
        <button type="submit">Save as a recipe</button>
      </form>
      <Alert text={error.value} />
      <ul class="section" aria-label="Recipes">
        {saved.value.map((item) => (
          <li key={item.recipe.name}>
            <RecipeView saved={item} />
          </li>
        ))}
      </ul>
    </>
  );
}

function RecipeView({ saved: { recipe, text, examples } }: { saved: Saved }) {
  const inputs = useSignal<unknown>(examples);
  const problem = useSignal("");
  const schema: Schema = { ...recipe.inputs, type: "object", properties: recipe.inputs?.properties ?? {} };
  const run = async () => {
    problem.value = "";
    try {
      go(addressOf(await runRecipe(recipe.name, recipe, inputs.value ?? {})));
    } catch (failed) {
      problem.value = sentence(failed);
    }
  };
  return (
    <details>
      <summary>
        <Visible text={recipe.name} most={64} />
      </summary>
      <form
        class="edit"
        aria-label={`Run ${recipe.name}`}
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <Field
          id={`recipe-${recipe.name}`}
          name="Inputs"
          schema={schema}
          root={schema}
          value={inputs.value}
          isRequired
          pointer=""
          problems={new Map()}
          onChange={(value) => (inputs.value = value)}
        />
        <Alert text={problem.value} />
        <p class="choices">
          <button type="submit" class="primary">
            Run it
          </button>
          <span class="own">Each change is asked about, as always.</span>
        </p>
      </form>
      <details>
        <summary>The file, to keep in the folder of recipes</summary>
        <pre tabIndex={0}>
          <Visible text={text} />
        </pre>
      </details>
    </details>
  );
}
