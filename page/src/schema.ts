// The JSON schema of an operation's arguments, and what a form needs to know of a part of it.
import { call } from "./server";

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

export type Kind = "object" | "array" | "choice" | "string" | "date" | "number" | "integer" | "boolean" | "json";

const known = new Map<string, Promise<Schema | null>>();

/** Fetch the schema of an operation once; null if the server has none, and then a form is one field of JSON. */
export function schemaOf(operation: string): Promise<Schema | null> {
  const path = `/debug/schema?operation=${encodeURIComponent(operation)}`;
  if (!known.has(operation)) known.set(operation, call<Schema>("GET", path).catch(() => null));
  return known.get(operation)!;
}

/** Follow the reference of a schema into the definitions of its root; the first level is enough to draw a field. */
export function followed(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let steps = 0; found.$ref && steps < 10; steps++) {
    const name = /^#\/\$defs\/(.+)$/.exec(found.$ref)?.[1];
    const target = name ? root.$defs?.[name.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
    if (!target) return {};
    found = target;
  }
  return found;
}

/** Choose the control for a value: by the type of the schema, unless the value that is there does not fit it. */
export function kindOf(schema: Schema, value: unknown): Kind {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type && type !== "null");
  if (value === null || types.length !== 1) return isScalarChoice(schema) && value !== null ? "choice" : "json";
  if (isScalarChoice(schema)) return "choice";
  const [type] = types;
  if (type === "object") return schema.properties && fits(value, "object") ? "object" : "json";
  if (type === "array") return schema.items && (value === undefined || Array.isArray(value)) ? "array" : "json";
  if (type === "string") {
    if (value !== undefined && typeof value !== "string") return "json";
    return schema.format === "date" && (!value || /^\d{4}-\d{2}-\d{2}$/.test(value as string)) ? "date" : "string";
  }
  if (type === "boolean") return value === undefined || typeof value === "boolean" ? "boolean" : "json";
  return type === "number" || type === "integer" ? type : "json";
}

function fits(value: unknown, type: "object"): boolean {
  return value === undefined || (typeof value === type && value !== null && !Array.isArray(value));
}

function isScalarChoice(schema: Schema): boolean {
  return (schema.enum?.length ?? 0) > 0 && schema.enum!.every((item) => typeof item !== "object" || item === null);
}
