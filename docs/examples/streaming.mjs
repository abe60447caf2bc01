// A run on a LangGraph server, shown while it goes on. Usage: node streaming.mjs URL INSTRUCTION
import { Client } from "@langchain/langgraph-sdk";

const [url = "http://127.0.0.1:2024", instruction = "Create a project named Roof garden"] = process.argv.slice(2);
const client = new Client({ apiUrl: url });
const { thread_id } = await client.threads.create();
const streamMode = ["custom", "messages-tuple", "values"];
const answers = new Map();

let given = { input: { messages: [{ type: "human", content: instruction }] } };
while (given) {
  const run = client.runs.stream(thread_id, "restgpt", { ...given, streamMode });
  given = null;
  for await (const { event, data } of run) {
    if (event === "error") throw new Error(data.message);
    if (event === "custom" && data.type === "task_started") console.log(`Task: ${data.text}`);
    if (event === "custom" && data.type === "request_started") console.log(`${data.method} ${data.operation} …`);
    if (event === "custom" && data.type === "request_finished") {
      console.log(`${data.method} ${data.operation}: ${data.status ?? data.error}`);
    }
    if (event === "messages") {
      const [{ id, type, content }] = data;
      // Chunks of one id are one message; the type `remove` takes the message back.
      if (type === "remove") answers.delete(id);
      else answers.set(id, (answers.get(id) ?? "") + content);
      console.log(JSON.stringify([...answers.values()]));
    }
    if (event === "values" && data.__interrupt__) {
      const actions = data.__interrupt__.flatMap((pause) => pause.value.action_requests);
      for (const { name, description } of actions) console.log(`${name}?\n${description}`);
      given = { command: { resume: { decisions: actions.map(() => ({ type: "approve" })) } } };
    }
  }
}
