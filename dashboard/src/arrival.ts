// What the address has with which a browser arrives at the page: the code that `berth up --dashboard`
// prints, or what an OpenID provider sends the browser back with.
import type { Secret } from "./api";

export const SIGN_IN = "/sign-in";

// A secret to sign in with, or the reason of a provider that refused.
export interface Arrival {
  secret?: Secret;
  refusal?: string;
}

export function arrivalOf(path: string, query: URLSearchParams, fragment: URLSearchParams): Arrival | null {
  const printed = fragment.get("code");
  if (printed !== null) return { secret: { code: printed } };
  if (path !== SIGN_IN) return null;
  const [code, state, error] = [query.get("code"), query.get("state"), query.get("error")];
  if (code && state) return { secret: { openId: { code, state } } };
  return error && /^[a-z_]{1,40}$/.test(error) ? { refusal: `The OpenID provider answers: ${error}` } : null;
}

// The view to show after the sign-in: a kept one, if it is a path of this page.
export function leftView(kept: string | null): string {
  return kept !== null && /^\/(?![/\\])/.test(kept) && !kept.startsWith(SIGN_IN) ? kept : "/";
}
