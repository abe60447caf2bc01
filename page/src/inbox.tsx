// The inbox: the changes of all threads that wait for a decision.
import { useEffect, useRef } from "preact/hooks";

import { Decided, Pause } from "./pause";
import { PermissionsLink } from "./permissions";
import { addressOf } from "./place";
import { questionsOf } from "./protocol";
import { nameOf, waiting, waitingCount } from "./threads";
import { Visible } from "./visible";

export function Inbox() {
  const count = waitingCount.value;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, [count]);
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Inbox">
     <div class="column">
      <header class="head">
        <h2 tabIndex={-1} ref={heading}>Inbox</h2>
        <PermissionsLink />
      </header>
      <p class="own" role="status">
        {count === 0 ? "No change waits for a decision." : count === 1 ? "1 change waits for your decision." : `${count} changes wait for your decision.`}
      </p>
      <Decided thread={null} />
      {waiting.value.map((thread) => (
        <section key={thread.thread_id} class="waiting">
          <p class="from">
            <a href={addressOf(thread.thread_id)}>
              <Visible text={nameOf(thread)} most={200} />
            </a>
          </p>
          {questionsOf(thread).map((interrupt) => (
            <Pause key={interrupt.id} thread={thread.thread_id} interrupt={interrupt} />
          ))}
        </section>
      ))}
     </div>
    </div>
  );
}
