// What the page reads of the answers of the LangGraph server and of the agent's state, events and questions.

export interface Message {
  id: string;
  type: string;
  content: string;
}

export interface RequestView {
  method: string;
  url: string;
  body: unknown;
}

/** What a permission given with a change may leave open, and how the other changes of the thread differ from this one. */
export interface Offer {
  free: Record<string, unknown>;
  /** A line for each pointer of `free`. */
  lines: Record<string, string>;
  times: number;
  hours: number;
  others: { differs: Record<string, unknown>; outside: string[] }[];
  /** How many other changes of the operation there are, also those that no permission covers. */
  of: number;
}

export interface ProposedEffect {
  reason: string;
  confirm: Decision;
}

/** A change that waits for a person, as an action request of LangChain's human-in-the-loop middleware. */
export interface Action {
  name: string;
  args: Record<string, unknown>;
  description: string;
  /** The sections that a decision seldom needs: all headers, the line of the program, the origin of every value. */
  details?: string;
  request: RequestView;
  provenance?: { pointer: string; origin: string }[];
  effect?: ProposedEffect;
  /** Where further changes can be permitted with this one. */
  permit?: Offer;
}

export interface Interrupt {
  id: string;
  value: { action_requests?: Action[]; review_configs?: { action_name: string; allowed_decisions: string[] }[] };
}

export type Decision =
  | { type: "approve"; only_reads?: boolean; permit?: { free: string[]; times: unknown; hours: unknown } }
  | { type: "edit"; edited_action: { name: string; args: unknown } }
  | { type: "reject"; message: string };

export interface Thread {
  thread_id: string;
  status: "idle" | "busy" | "interrupted" | "error";
  updated_at: string;
  metadata?: { name?: string; graph_id?: string; apis?: string[]; is_dry?: boolean; is_unfulfilled?: boolean };
  interrupts?: Record<string, Interrupt[]>;
}

export interface Call {
  id: string;
  operation: string;
  round?: number;
  status: string;
  arguments: unknown;
  note?: string;
  /** Whether a person approved it as it is. */
  agreed?: boolean;
  /** The arguments as they are sent, where they differ from those given; `exact` is their JSON where a store would change them. */
  settled?: { body?: unknown };
  exact?: string;
  /** What a person is asked about, as long as the call may still be sent. */
  question?: { request?: { method: string; url: string } };
  /** Method and address, before arguments are filled in. */
  endpoint?: string;
  request?: { method: string; url: string };
  response?: { status?: number; elapsed_ms?: number; sketch?: string; reason?: string };
}

export interface Program {
  code: string;
  number: number;
  writer: string;
  status: string;
  end?: string;
  feedback?: string;
  /** The ids of the calls of earlier programs whose answers this one took, by position. */
  taken?: Record<string, string>;
}

export interface Step {
  turn: number;
  kind: string;
  plan: string;
  result: string;
  requests: Call[];
  program?: { code: string; writer?: string; number?: number; end?: string | null; feedback?: string } | null;
}

export interface Values {
  messages?: Message[];
  turn?: number;
  task?: number;
  round?: number;
  answer?: string;
  decision?: { kind: string; text?: string } | null;
  selection?: { operations: string[] } | null;
  api_plan?: { calls: { operation: string }[] } | null;
  program?: Program | null;
  steps?: Step[];
  requests?: Call[];
  usage?: { roles?: Record<string, { calls: number; input_tokens: number; output_tokens: number }>; requests?: number; seconds?: number };
}

export interface State {
  values: Values;
  next: string[];
  tasks: { error?: string | null; interrupts?: Interrupt[] }[];
}

/** A saved state of a thread, between two steps of its graph. */
export interface Checkpoint {
  values: Values;
  next: string[];
  tasks: { name: string; error?: string | null; interrupts?: Interrupt[] }[];
  metadata: { source?: string; step?: number };
  created_at: string;
  checkpoint: { checkpoint_id: string };
  parent_checkpoint: { checkpoint_id: string } | null;
}

export interface Graph {
  nodes: { id: string; metadata?: { description?: string } }[];
  edges: { source: string; target: string; data?: string; conditional?: boolean }[];
}

export type ProgressEvent =
  | { type: "task_started"; kind: string; text: string }
  | { type: "operations_chosen"; operations: { operation: string; purpose: string }[] }
  | { type: "functions_selected"; operations: string[]; reason: string; words: string }
  | { type: "program_written"; number: number; writer: string; code: string }
  | { type: "request_started"; id: string; operation: string; method: string; url: string }
  | { type: "request_finished"; id: string; operation: string; method: string; url: string; status: number | null; ms: number; error: string }
  | { type: "approval_requested"; requests: unknown[] }
  | { type: "step_finished"; result: string; report: string; end: string | null }
  | { type: "usage"; model_calls: number; input_tokens: number; output_tokens: number; requests: number; seconds: number };

/** Return the questions of a thread that wait for a decision; a run that goes on has its answer. */
export function questionsOf(thread: Thread): Interrupt[] {
  if (thread.status === "busy") return [];
  return Object.values(thread.interrupts ?? {})
    .flat()
    .filter((interrupt) => (interrupt.value?.action_requests?.length ?? 0) > 0);
}
