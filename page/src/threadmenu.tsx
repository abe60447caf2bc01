// What can be done with a thread as a whole: another title, and its deletion for good.
import { failure, isAgent } from "./conversation";
import { go } from "./place";
import { call, sentence } from "./server";
import { nameOfId, refresh } from "./threads";

export function ThreadMenu({ id }: { id: string }) {
  const path = `/threads/${encodeURIComponent(id)}`;
  const act = async (send: () => Promise<unknown>) => {
    try {
      await send();
      await refresh();
    } catch (failed) {
      failure.value = sentence(failed);
    }
  };
  const rename = () => {
    const name = prompt("Title of the thread", nameOfId(id));
    if (name !== null) void act(() => call("PATCH", path, { metadata: { name } }));
  };
  const remove = () => {
    if (confirm(`Delete the thread "${nameOfId(id)}" for good?`)) void act(() => call("DELETE", path).then(() => go("#/")));
  };
  if (!isAgent.value) return null;
  return (
    <span class="actions">
      <button type="button" class="quiet" onClick={rename}>Rename…</button>
      <button type="button" class="quiet" onClick={remove}>Delete…</button>
    </span>
  );
}
