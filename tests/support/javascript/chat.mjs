// Shows runs of one thread by the React hook useStream, as agent-chat-ui does, and approves what a run asks.
// Prints a line of JSON for each state of the screen: messages, custom events so far, the question, the steps.
// Usage: node chat.mjs URL INSTRUCTION…

import { useStream } from "@langchain/langgraph-sdk/react";
import { createElement, useState } from "react";
import { create } from "react-test-renderer";

const [url, ...instructions] = process.argv.slice(2);
const events = [];
let chat;
let before = "";

function Chat() {
  const [threadId, setThreadId] = useState(null);
  chat = useStream({
    apiUrl: url,
    assistantId: "restgpt",
    threadId,
    onThreadId: setThreadId,
    fetchStateHistory: true,
    onCustomEvent: (event) => events.push(event.type),
  });
  const screen = {
    messages: chat.messages.map(({ type, id, content }) => ({ type, id, content })),
    events: [...events],
    question: chat.interrupt?.value ?? null,
    plan: chat.values.plan ?? "",
    steps: (chat.values.steps ?? []).length,
    isLoading: chat.isLoading,
    error: chat.error ? String(chat.error) : "",
  };
  const line = JSON.stringify(screen);
  if (line !== before) console.log(line);
  before = line;
  return null;
}

// A run is over on the screen once React has drawn it so.
const settled = async () => {
  do await new Promise((resolve) => setTimeout(resolve, 50));
  while (chat.isLoading || chat.isThreadLoading);
};

create(createElement(Chat));
await settled();
const asked = { streamMode: ["values"], streamSubgraphs: true, streamResumable: true };
for (const instruction of instructions) {
  const message = { type: "human", content: instruction, id: crypto.randomUUID() };
  await chat.submit(
    { messages: [message] },
    { ...asked, optimisticValues: (earlier) => ({ ...earlier, messages: [...(earlier.messages ?? []), message] }) },
  );
  await settled();
  while (chat.interrupt) {
    const decisions = chat.interrupt.value.action_requests.map(() => ({ type: "approve" }));
    await chat.submit(null, { ...asked, command: { resume: { decisions } } });
    await settled();
  }
}
process.exit(0);
