// The door: the token in the address is exchanged for a cookie, which scripts cannot read and all tabs of the browser have.
import { signal } from "@preact/signals";

/** Why the server refuses this browser; empty if it does not. */
export const refusal = signal("");

export async function exchange(): Promise<void> {
  const token = /^#\/token\/([\w-]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#/");
  await fetch("/debug/token", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
    cache: "no-store",
  });
}
