// JSON pointers (RFC 6901): places in a JSON value.

export function tokensOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function parentOf(pointer: string): string {
  return pointer.split("/").slice(0, -1).join("/");
}

/** Return the value at a pointer; undefined if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const token of tokensOf(pointer)) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, token)) return undefined;
    found = (found as Record<string, unknown>)[token];
  }
  return found;
}

/** Append a name to a JSON pointer. */
export function pointerTo(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
