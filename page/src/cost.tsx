// What a thread has cost: model calls, tokens, requests and seconds, by role and by step.
import { useFew } from "./few";
import { head, historyError, nameOfStep, steps, type GraphStep } from "./history";
import { Alert } from "./visible";

interface Row {
  name: string;
  calls: number;
  tokens: number;
  requests: number;
  seconds: number;
}

/** The cost of each role: its model calls and tokens, and what its steps sent and took. */
export function costByRole(all: GraphStep[]): Row[] {
  const rows = new Map<string, Row>();
  const row = (name: string) => {
    const found = rows.get(name) ?? { name, calls: 0, tokens: 0, requests: 0, seconds: 0 };
    rows.set(name, found);
    return found;
  };
  for (const step of all) {
    const own = row(nameOfStep(step));
    own.requests += step.requests;
    own.seconds += step.seconds;
  }
  for (const [name, role] of Object.entries(all.at(-1)?.after.values.usage?.roles ?? {})) {
    const own = row(name);
    own.calls += role.calls;
    own.tokens += role.input_tokens + role.output_tokens;
  }
  return [...rows.values()].filter((item) => item.calls + item.tokens + item.requests + item.seconds > 0);
}

export function Cost() {
  if (historyError.value) return <Alert text={historyError.value} />;
  if (!head.value) return <p class="own">Reading the steps …</p>;
  const all = steps.value;
  const byStep = all.map((step, index) => ({ ...step, name: `${index + 1} ${nameOfStep(step)}`, calls: step.calls }));
  return (
    <>
      <Chart caption="By role" rows={costByRole(all)} />
      <Chart caption="By step" rows={byStep} />
    </>
  );
}

const COLUMNS: { key: "calls" | "tokens" | "requests" | "seconds"; label: string }[] = [
  { key: "calls", label: "Model calls" },
  { key: "tokens", label: "Tokens" },
  { key: "requests", label: "Requests" },
  { key: "seconds", label: "Seconds" },
];

function Chart({ caption, rows }: { caption: string; rows: Row[] }) {
  const { shown: few, more } = useFew(rows, "steps", "last");
  const most = COLUMNS.map(({ key }) => rows.reduce((all, row) => Math.max(all, row[key]), Number.MIN_VALUE));
  const sum = (key: keyof Omit<Row, "name">) => rows.reduce((all, row) => all + row[key], 0);
  return (
    <table class="chart">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{caption === "By role" ? "Role" : "Step"}</th>
          {COLUMNS.map(({ key, label }) => (
            <th scope="col" key={key}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {more && (
          <tr>
            <td colSpan={COLUMNS.length + 1}>{more}</td>
          </tr>
        )}
        {few.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            {COLUMNS.map(({ key }, index) => (
              <td key={key}>
                {shown(key, row[key])}
                <Bar share={row[key] / most[index]!} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Sum</th>
          {COLUMNS.map(({ key }) => (
            <td key={key}>{shown(key, sum(key))}</td>
          ))}
        </tr>
      </tfoot>
    </table>
  );
}

function shown(key: string, value: number): string {
  return key === "seconds" ? value.toFixed(2) : value.toLocaleString("en");
}

function Bar({ share }: { share: number }) {
  return (
    <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width={100 * share} height="6" rx="1" />
    </svg>
  );
}
