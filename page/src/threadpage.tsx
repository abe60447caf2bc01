// A thread in one of its views, and the links to the others.
import { useEffect } from "preact/hooks";

import { Chat } from "./chat";
import * as conversation from "./conversation";
import { Cost } from "./cost";
import { addressOf, VIEWS, type View } from "./place";
import { ProgramView } from "./program";
import { Steer } from "./steer";
import { ThreadMenu } from "./threadmenu";
import { threads } from "./threads";
import { Timeline } from "./timeline";
import { Wire } from "./wire";
import { Alert } from "./visible";

const NAMES: Record<View, string> = { chat: "Chat", timeline: "Timeline", wire: "Requests", program: "Program", cost: "Cost", steer: "Fork and undo" };
const PANELS: Record<Exclude<View, "chat">, () => preact.JSX.Element> = {
  timeline: () => <Timeline />,
  wire: () => <Wire />,
  program: () => <ProgramView />,
  cost: () => <Cost />,
  steer: () => <Steer />,
};

export function ThreadPage({ id, view }: { id: string | null; view: View }) {
  useEffect(() => void conversation.show(id), [id]);
  const updated = threads.value.find((thread) => thread.thread_id === id)?.updated_at;
  useEffect(() => void (id !== null && updated && conversation.catchUp(id)), [updated]);
  return (
    <div class="pane">
      {id !== null && (
        <nav class="views" aria-label="Views of the thread">
          {VIEWS.map((name) => (
            <a key={name} href={addressOf(id, name)} aria-current={name === view ? "page" : undefined}>
              {NAMES[name]}
            </a>
          ))}
          <ThreadMenu key={id} id={id} />
        </nav>
      )}
      {view === "chat" ? <Chat id={id} /> : <Panel name={NAMES[view]}>{PANELS[view]()}</Panel>}
    </div>
  );
}

function Panel({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={name}>
      <div class="column wide">
        <h2>{name}</h2>
        <Alert text={conversation.failure.value} />
        {children}
      </div>
    </div>
  );
}
