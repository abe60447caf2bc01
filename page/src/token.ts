// The bearer token of the server: asked for once and kept until the tab is closed, or given for the one in the address.
import { signal } from "@preact/signals";

const KEY = "restgpt-server-token";

export const token = signal(sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? "");
/** Why the page asks for the token; empty if it does not. */
export const tokenWanted = signal("");

const GIVEN = /^#\/once\/([\w-]+)$/;

/** Exchange the token in the address, which works once, for that of the server, which any tab of this browser may use. */
export async function exchange(): Promise<void> {
  const once = GIVEN.exec(location.hash)?.[1];
  if (!once) return;
  history.replaceState(null, "", "#/");
  const answer = await fetch("/debug/token", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ once }),
    cache: "no-store",
  });
  if (!answer.ok) return;
  token.value = ((await answer.json()) as { token: string }).token;
  localStorage.setItem(KEY, token.value);
}

export function useToken(text: string): void {
  sessionStorage.setItem(KEY, text);
  token.value = text;
  tokenWanted.value = "";
}

export function bearer(): Record<string, string> {
  return token.value ? { Authorization: `Bearer ${token.value}` } : {};
}
