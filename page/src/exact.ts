// JSON whose numbers stay as they are written: 9007199254740993 is no number of JavaScript, so it is kept as its text.

export interface RawNumber {
  readonly rawJSON: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON?(text: string): RawNumber;
};

/** A number that JavaScript may change, as a server in Python writes it; some texts look like one, too. */
const LONG_NUMBER = /(?:^|[[:,\s])-?(?:\d{16,}|(?=[\d.]{19})[1-9]\d*\.\d|0\.0*[1-9]\d{17,}|[\d.]{18,}[eE]|[\d.]+[eE][-+]?\d{3})/;

/** Parse JSON; a number that JavaScript would change is kept as `RawNumber`, which `JSON.stringify` writes as it was. */
export function parseExact(text: string): unknown {
  // The other way takes ten times as long.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return json.parse(text, (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined ? exactNumber(context.source) : value,
  );
}

/** Return the number that a text is, exactly. */
export function exactNumber(text: string): number | RawNumber {
  const value = Number(text);
  return json.rawJSON && digits(String(value)) !== digits(text) ? json.rawJSON(text) : value;
}

export function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === "object" && value !== null && typeof (value as RawNumber).rawJSON === "string";
}

/** Write a value as indented JSON. */
export function writeExact(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

/** The digits of a number that count: 1.50e3 and 1500 have the same. */
function digits(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().replace(/^[+-]/, "").split("e");
  const [whole = "", part = ""] = mantissa.split(".");
  const all = (whole + part).replace(/^0+/, "");
  const significant = all.replace(/0+$/, "");
  const leading = (whole + part).length - all.length;
  return significant === "" ? "0" : `${significant}e${whole.length - leading + Number(exponent)}`;
}

/** Indent a JSON text without changing anything else in it, also one in which a mark says what is left out. */
export function indented(json: string): string {
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|…\s[\d,]*\d\s[\w ]+|[[{]\s*[\]}]|\s+|./gs, (part) => {
    if (/^\s/.test(part)) return "";
    if (part === "{" || part === "[") depth += 1;
    if (part === "}" || part === "]") depth = Math.max(0, depth - 1);
    if (part === "}" || part === "]") return line() + part;
    return ["{", "[", ","].includes(part) ? part + line() : part === ":" ? ": " : part;
  });
}
