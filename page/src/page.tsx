// The page: a list of threads beside the open thread or the inbox, and the question for the token where one is needed.
import { effect, signal } from "@preact/signals";
import { render } from "preact";

import { trouble } from "./connection";
import { Inbox } from "./inbox";
import { Permissions } from "./permissions";
import { addressOf, place } from "./place";
import { isLoaded, listed, listError, nameOf, refresh, sought, stateOf, threads, timeOf, waitingCount, watch } from "./threads";
import { ThreadPage } from "./threadpage";
import { exchange, refusal } from "./token";
import { Alert, Visible } from "./visible";

/** Whether the list of threads is open on a narrow screen. */
const isOpen = signal(false);

function Page() {
  if (refusal.value) {
    return (
      <main class="gate">
        <h1>RestGPT</h1>
        <p role="alert">{refusal.value}</p>
      </main>
    );
  }
  const here = place.value;
  return (
    <div class="frame">
      <header class="top">
        <button type="button" aria-expanded={isOpen.value} aria-controls="side" onClick={() => (isOpen.value = !isOpen.value)}>
          Menu
        </button>
        <strong>RestGPT</strong>
        {waitingCount.value > 0 && (
          <a class="count" href="#/inbox">
            {waitingCount.value} waiting
          </a>
        )}
      </header>
      <Side />
      <main>
        {here.kind === "inbox" ? (
          <Inbox />
        ) : here.kind === "permissions" ? (
          <Permissions />
        ) : (
          <ThreadPage id={here.kind === "thread" ? here.id : null} view={here.kind === "thread" ? here.view : "chat"} />
        )}
      </main>
    </div>
  );
}

function Side() {
  const here = place.value;
  const current = (is: boolean) => (is ? ("page" as const) : undefined);
  const count = waitingCount.value;
  return (
    <nav aria-label="Threads" id="side" class={isOpen.value ? "side open" : "side"}>
      <h1>RestGPT</h1>
      <a class="item" href="#/" aria-current={current(here.kind === "new")}>
        New instruction
      </a>
      <a class="item" href="#/inbox" aria-current={current(here.kind === "inbox")}>
        <span>Inbox</span>
        {count > 0 && <span class="count">{count}</span>}
      </a>
      <p role="status" class="trouble">
        {trouble()}
      </p>
      <Alert text={listError.value} />
      <input
        type="search"
        aria-label="Search the threads"
        placeholder="Search"
        value={sought.value}
        onInput={(event) => {
          sought.value = event.currentTarget.value;
          void refresh();
        }}
      />
      <ul>
        {listed.value.map((thread) => {
          const { label, kind } = stateOf(thread);
          return (
            <li key={thread.thread_id}>
              <a
                class="item thread"
                href={addressOf(thread.thread_id)}
                aria-current={current(here.kind === "thread" && here.id === thread.thread_id)}
              >
                <span class="name">
                  <Visible text={nameOf(thread)} most={120} />
                </span>
                <span class={`state ${kind}`}>{label}</span>
                <span class="when">
                  {thread.metadata?.is_dry && " · dry run"} · {timeOf(thread)}
                  {(thread.metadata?.apis ?? []).map((name) => (
                    <>
                      {" · "}
                      <Visible text={name} most={60} />
                    </>
                  ))}
                </span>
              </a>
            </li>
          );
        })}
      </ul>
      {isLoaded.value && listed.value.length === 0 && <p class="own">{threads.value.length ? "No thread has these words." : "No threads yet."}</p>}
    </nav>
  );
}

effect(() => {
  void place.value;
  isOpen.value = false;
});
effect(() => {
  const count = waitingCount.value;
  document.title = count > 0 ? `(${count}) RestGPT` : "RestGPT";
});
await exchange().catch(() => {
  // The list of threads says that the server cannot be reached.
});
watch();
const root = document.getElementById("page")!;
root.replaceChildren();
render(<Page />, root);
