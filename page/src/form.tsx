// A form for a value that a JSON schema describes: native controls by type, with the product's problems at the fields.
import { useState } from "preact/hooks";

import { exactNumber, isRawNumber, parseExact, writeExact } from "./exact";
import { pointerTo } from "./pointer";
import { followed, kindOf, type Kind, type Schema } from "./schema";
import { Visible } from "./visible";

export interface FieldProps {
  id: string;
  name: string;
  schema: Schema;
  root: Schema;
  value: unknown;
  isRequired: boolean;
  pointer: string;
  problems: Map<string, string>;
  /** Told the new value; undefined leaves the argument out. */
  onChange: (value: unknown) => void;
}

const LONG = 60;

export function Field(props: FieldProps) {
  const root = props.schema.$defs ? props.schema : props.root;
  const schema = followed(props.schema, root);
  // The control stays while somebody writes, even if the value does not fit it for a moment.
  const [kind] = useState<Kind>(() => kindOf(schema, props.value));
  const next = { ...props, schema, root };
  if (kind === "object") return <ObjectField {...next} />;
  if (kind === "array") return <ArrayField {...next} />;
  return <Control {...next} kind={kind} />;
}

function ObjectField({ id, name, schema, root, value, isRequired, pointer, problems, onChange }: FieldProps) {
  const given = (value ?? {}) as Record<string, unknown>;
  const properties = schema.properties ?? {};
  const names = [...new Set([...Object.keys(properties), ...Object.keys(given)])];
  const change = (key: string, item: unknown) => {
    const entries = names.filter((known) => known !== key && known in given).map((known) => [known, given[known]]);
    const changed = Object.fromEntries(item === undefined ? entries : [...entries, [key, item]]) as Record<string, unknown>;
    onChange(Object.keys(changed).length === 0 && !isRequired ? undefined : changed);
  };
  return (
    <fieldset>
      <legend>{name}</legend>
      <Problem id={id} text={problems.get(pointer)} />
      {names.map((key) => (
        <Field
          key={key}
          id={`${id}-${key}`}
          name={key}
          schema={properties[key] ?? {}}
          root={root}
          value={given[key]}
          isRequired={schema.required?.includes(key) ?? false}
          pointer={pointerTo(pointer, key)}
          problems={problems}
          onChange={(item) => change(key, item)}
        />
      ))}
    </fieldset>
  );
}

function ArrayField({ id, name, schema, root, value, isRequired, pointer, problems, onChange }: FieldProps) {
  const items = (value ?? []) as unknown[];
  // A key for each item, so that a removed item takes its own controls with it.
  const [keys, setKeys] = useState(() => items.map((_, index) => index));
  const change = (changed: unknown[]) => onChange(changed.length === 0 && !isRequired ? undefined : changed);
  return (
    <fieldset>
      <legend>{name}</legend>
      <Problem id={id} text={problems.get(pointer)} />
      {items.map((item, index) => (
        <div class="item" key={keys[index]}>
          <Field
            id={`${id}-${keys[index]}`}
            name={`${name} ${index + 1}`}
            schema={schema.items ?? {}}
            root={root}
            value={item}
            isRequired
            pointer={pointerTo(pointer, index)}
            problems={problems}
            onChange={(next) => change(items.map((old, at) => (at === index ? (next ?? null) : old)))}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => {
              setKeys(keys.filter((_, at) => at !== index));
              change(items.filter((_, at) => at !== index));
            }}
          >
            Remove {name} {index + 1}
          </button>
        </div>
      ))}
      <button
        type="button"
        class="quiet"
        onClick={() => {
          setKeys([...keys, Math.max(-1, ...keys) + 1]);
          change([...items, blank(followed(schema.items ?? {}, root))]);
        }}
      >
        Add to {name}
      </button>
    </fieldset>
  );
}

function blank(schema: Schema): unknown {
  const kind = kindOf(schema, undefined);
  if (kind === "object") return {};
  if (kind === "array") return [];
  return kind === "string" ? "" : null;
}

function Control({ id, name, schema, value, isRequired, pointer, problems, onChange, kind }: FieldProps & { kind: Kind }) {
  const problem = problems.get(pointer);
  const [text, setText] = useState(() => textOf(kind, value));
  const [isUnreadable, setUnreadable] = useState(false);
  const describedBy = [problem || isUnreadable ? `${id}-problem` : "", schema.description ? `${id}-note` : ""].join(" ").trim();
  const shared = {
    id,
    value: text,
    "aria-required": isRequired,
    "aria-invalid": Boolean(problem) || isUnreadable,
    "aria-describedby": describedBy || undefined,
    onInput: (event: { currentTarget: { value: string } }) => {
      const written = event.currentTarget.value;
      setText(written);
      const read = valueOf(kind, written, schema, isRequired);
      setUnreadable(read === UNREADABLE);
      // What cannot be read goes to the product as text, which says what is wrong with it.
      onChange(read === UNREADABLE ? written : read);
    },
  };
  return (
    <div class="field">
      <label for={id}>
        <Visible text={name} />
        {isRequired && <span class="required"> required</span>}
      </label>
      <Input kind={kind} schema={schema} shared={shared} text={text} isRequired={isRequired} />
      {schema.description && (
        <p class="note" id={`${id}-note`}>
          <Visible text={schema.description} most={300} />
        </p>
      )}
      <Problem id={id} text={problem ?? (isUnreadable ? "This is no JSON." : undefined)} />
    </div>
  );
}

type Shared = { id: string; value: string; onInput: (event: { currentTarget: { value: string } }) => void };

function Input({ kind, schema, shared, text, isRequired }: { kind: Kind; schema: Schema; shared: Shared; text: string; isRequired: boolean }) {
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? ["true", "false"] : schema.enum!.map((item) => writeExact(item));
    return (
      <select {...shared}>
        {(!isRequired || !choices.includes(text)) && <option value="">(left out)</option>}
        {!choices.includes(text) && text !== "" && <option value={text}>{text}</option>}
        {choices.map((choice) => (
          <option value={choice} key={choice}>
            {kind === "choice" ? String(JSON.parse(choice)) : choice}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "number" || kind === "integer") return <input type="number" step={kind === "integer" ? 1 : "any"} {...shared} />;
  if (kind === "date") return <input type="date" {...shared} />;
  if (kind === "json") return <textarea rows={Math.min(12, text.split("\n").length + 1)} spellcheck={false} class="code" {...shared} />;
  if (text.length > LONG || text.includes("\n")) return <textarea rows={4} {...shared} />;
  return <input type="text" autocomplete="off" {...shared} />;
}

function Problem({ id, text }: { id: string; text: string | undefined }) {
  return text ? (
    <p class="problem" id={`${id}-problem`}>
      <Visible text={text} />
    </p>
  ) : null;
}

const UNREADABLE = Symbol("unreadable");

function textOf(kind: Kind, value: unknown): string {
  if (value === undefined) return "";
  if (isRawNumber(value)) return value.rawJSON;
  // A number may have been given as text.
  return typeof value === "string" && !["json", "choice"].includes(kind) ? value : writeExact(value);
}

function valueOf(kind: Kind, text: string, schema: Schema, isRequired: boolean): unknown {
  if (text === "") return isRequired && kind === "string" ? "" : undefined;
  switch (kind) {
    case "string":
    case "date":
      return text;
    case "number":
    case "integer":
      return exactNumber(text);
    case "boolean":
      return text === "true";
    case "choice":
      return schema.enum!.find((item) => writeExact(item) === text);
    default:
      try {
        return parseExact(text);
      } catch {
        return UNREADABLE;
      }
  }
}
