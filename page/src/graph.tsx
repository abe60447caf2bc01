// The graph as a picture: its nodes in a column, its edges as arcs, the road that was taken, and the node at work.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { threadId } from "./conversation";
import { nameOfStep, type GraphStep } from "./history";
import type { Graph } from "./protocol";
import { call, sentence } from "./server";
import { graphOf } from "./threads";

const graphs = signal<Map<string, Graph>>(new Map());
const graphError = signal("");

async function readGraph(name: string): Promise<void> {
  try {
    graphs.value = new Map(graphs.value).set(name, await call<Graph>("GET", `/assistants/${name}/graph`));
    graphError.value = "";
  } catch (error) {
    graphError.value = sentence(error);
  }
}

const [WIDTH, ROW, TOP, MIDDLE, HALF, TALL] = [260, 46, 16, 130, 42, 24];

interface Edge {
  source: string;
  target: string;
  label: string;
  /** How often the road went along it. */
  count: number;
}

/** Count how often each edge of the graph was taken; a step of several nodes goes along all that fit. */
export function roadOf({ edges }: Graph, steps: GraphStep[], atWork: string[]): Edge[] {
  const stages = steps.flatMap((step) => (step.after.next.length === 0 ? [step.nodes, ["__end__"]] : [step.nodes]));
  if (atWork.length > 0) stages.push(atWork);
  return edges.map(({ source, target, data }) => {
    const count = stages.filter((stage, index) => index > 0 && stage.includes(target) && lastOf(stages, index).includes(source)).length;
    return { source, target, label: data ?? "", count };
  });
}

/** The nodes before a stage; an edit by a person runs none. */
function lastOf(stages: string[][], index: number): string[] {
  for (let at = index - 1; at >= 0; at -= 1) {
    const stage = stages[at]!;
    if (stage.length > 0 && stage[0] !== "edit") return stage;
  }
  return [];
}

export function GraphPicture({ steps, atWork, isRunning }: { steps: GraphStep[]; atWork: string[]; isRunning: boolean }) {
  const name = graphOf(threadId.value);
  const graph = graphs.value.get(name);
  useEffect(() => void (graph === undefined && readGraph(name)), [name]);
  if (graphError.value) return <p class="problem">{graphError.value}</p>;
  if (!graph) return <div />;
  const { nodes } = graph;
  const edges = roadOf(graph, steps, atWork);
  const rows = new Map(nodes.map((node, index) => [node.id, index]));
  const visited = new Set(edges.filter((edge) => edge.count > 0).flatMap((edge) => [edge.source, edge.target]));
  const taken = steps.map(nameOfStep);
  const now = atWork.length > 0 ? `${isRunning ? "At work" : "Next"}: ${[...new Set(atWork)].join(", ")}.` : "";
  // Edges that were taken are drawn over those that were not.
  const drawn = [...edges].sort((one, other) => Number(one.count > 0) - Number(other.count > 0));
  return (
    <figure class="graph">
      <svg
        role="img"
        aria-label={`The graph. Road taken: ${taken.join(", ") || "none yet"}. ${now}`}
        viewBox={`0 0 ${WIDTH} ${TOP * 2 + ROW * (nodes.length - 1) + TALL}`}
      >
        {drawn.map((edge) => (
          <path
            key={`${edge.source} ${edge.target}`}
            class={edge.count > 0 ? "edge taken" : "edge"}
            data-edge={`${edge.source} ${edge.target}`}
            data-count={edge.count}
            d={curve(rows.get(edge.source) ?? 0, rows.get(edge.target) ?? 0)}
          >
            <title>
              {edge.source} → {edge.target}
              {edge.label && ` (${edge.label})`}: {edge.count === 1 ? "once" : `${edge.count} times`}
            </title>
          </path>
        ))}
        {nodes.map((node, index) => {
          const kind = atWork.includes(node.id) ? "work" : visited.has(node.id) ? "taken" : "";
          return (
            <g key={node.id} class={`node ${kind}`} data-node={node.id}>
              <title>{node.metadata?.description ?? node.id}</title>
              <rect x={MIDDLE - HALF} y={TOP + index * ROW} width={HALF * 2} height={TALL} rx="6" />
              <text x={MIDDLE} y={TOP + index * ROW + TALL / 2} text-anchor="middle" dominant-baseline="central">
                {node.id.replaceAll("_", "")}
              </text>
            </g>
          );
        })}
      </svg>
      <figcaption class="own">{now || "The path taken is drawn thick."}</figcaption>
    </figure>
  );
}

/** Straight to the next row; a jump down bends to the right, a way back to the left, the farther the wider. */
function curve(from: number, to: number): string {
  const y = (row: number) => TOP + row * ROW;
  if (to === from + 1) return `M${MIDDLE} ${y(from) + TALL}V${y(to)}`;
  const side = to > from ? 1 : -1;
  const x = MIDDLE + side * HALF;
  const far = x + side * Math.min(20 + 16 * Math.abs(to - from), MIDDLE - HALF);
  const [start, end] = [y(from) + TALL * (to > from ? 0.7 : 0.3), y(to) + TALL * (to > from ? 0.3 : 0.7)];
  return `M${x} ${start}C${far} ${start} ${far} ${end} ${x} ${end}`;
}
