// A request as a command of curl, in which what is hidden is a variable of the shell.
import type { Piece } from "./calls";

/** How the product writes a secret that it hides. */
const HIDDEN = "[redacted]";

/** `body` is what the request's body is read as; one that is read in pieces is left to a file. */
export function curlOf({ method, url, headers }: { method: string; url: string; headers: Record<string, string> }, body: Piece | null): string {
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`, name)}`);
  const isWhole = body !== null && body.pages <= 1 && !body.isCut && body.kind !== "binary";
  const data = body === null ? [] : [`--data-binary ${isWhole ? quoted(body.content, "body") : "@body"}`];
  return [`curl -X ${method} ${quoted(url, "url")}`, ...given, ...data].join(" \\\n  ");
}

function quoted(text: string, name: string): string {
  const variable = `$${name.toUpperCase().replaceAll(/\W/g, "_")}`;
  return `'${text.replaceAll("'", "'\\''").replaceAll(HIDDEN, `'"${variable}"'`)}'`;
}
