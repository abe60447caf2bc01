// What a person permitted beyond one request, which can be taken back.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { returns } from "./connection";
import { call, isMissing, readSentence, sentence } from "./server";
import { Alert, Visible } from "./visible";

interface Permission {
  key: string;
  text: string;
}

const PATH = "/permissions";

/** What is permitted; null if that was not read, or the server has no such list. */
const permissions = signal<Permission[] | null>(null);
const isOffered = signal(true);
const error = signal("");

async function read(): Promise<void> {
  if (!isOffered.value) return;
  try {
    permissions.value = await call<Permission[]>("GET", PATH);
    error.value = "";
  } catch (failed) {
    isOffered.value = !isMissing(failed);
    error.value = readSentence(failed);
  }
}

/** The link to the list, only where the server has one. */
export function PermissionsLink() {
  useEffect(() => void read(), [returns.value]);
  return permissions.value ? <a href="#/permissions">Permissions</a> : null;
}

export function Permissions() {
  const heading = useRef<HTMLHeadingElement>(null);
  const found = permissions.value;
  useEffect(() => void read(), [returns.value]);
  useEffect(() => heading.current?.focus(), []);
  const takeBack = async ({ key }: Permission) => {
    try {
      await call("DELETE", `${PATH}/${encodeURIComponent(key)}`);
      // The button that was pressed is gone.
      heading.current?.focus();
    } catch (failed) {
      error.value = sentence(failed);
      return;
    }
    await read();
  };
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label="Permissions">
      <div class="column">
        <h2 tabIndex={-1} ref={heading}>
          Permissions
        </h2>
        <p class="own" role="status">
          {!isOffered.value && "This server lists no permissions."}
          {found && (found.length === 0 ? "Nothing is permitted beyond one request." : "You decided this beyond one request. What you take back is asked again.")}
        </p>
        <Alert text={isOffered.value ? error.value : ""} />
        {(found ?? []).map((permission, index) => {
          const [head = "", ...lines] = permission.text.split("\n");
          return (
            <article class="question" key={permission.key} aria-labelledby={`permission-${index}`}>
              <p id={`permission-${index}`}>
                <Visible text={head} most={600} />
              </p>
              {lines.length > 0 && (
                <pre class="plain data">
                  <Visible text={lines.map((line) => line.trimStart()).join("\n")} />
                </pre>
              )}
              <div class="choices">
                <button type="button" aria-describedby={`permission-${index}`} onClick={() => void takeBack(permission)}>
                  Take back
                </button>
              </div>
            </article>
          );
        })}
      </div>
    </div>
  );
}
