// The bearer token of the server: asked for once, kept until the tab is closed.
import { signal } from "@preact/signals";

const KEY = "restgpt-server-token";

export const token = signal(sessionStorage.getItem(KEY) ?? "");
/** Why the page asks for the token; empty if it does not. */
export const tokenWanted = signal("");

export function useToken(text: string): void {
  sessionStorage.setItem(KEY, text);
  token.value = text;
  tokenWanted.value = "";
}

export function bearer(): Record<string, string> {
  return token.value ? { Authorization: `Bearer ${token.value}` } : {};
}
