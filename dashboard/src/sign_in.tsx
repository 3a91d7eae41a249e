// Sign-in with a token, at an OpenID provider, or with the code that `berth up --dashboard` prints. This
// code stands in the fragment of the address, which browsers do not send. The provider sends the browser
// back with a code and a state in the query. Both are taken out of the address at once.
import { useEffect, useState } from "preact/hooks";
import { openIdAddress, Problem, signIn, type Secret, type Session } from "./api";
import { arrivalOf, leftView, SIGN_IN, type Arrival } from "./arrival";
import { Icon } from "./icons";
import { go } from "./router";

const LEFT_FROM = "berth-left-from"; // the view that the browser left for the provider

export function takeArrival(): Arrival | null {
  const query = new URLSearchParams(location.search);
  const arrival = arrivalOf(location.pathname, query, new URLSearchParams(location.hash.slice(1)));
  if (arrival === null) return null;
  const ofProvider = arrival.refusal !== undefined || "openId" in (arrival.secret ?? {});
  history.replaceState(null, "", location.pathname + (ofProvider ? "" : location.search));
  return arrival;
}

function takeLeftView(): string {
  const left = leftView(sessionStorage.getItem(LEFT_FROM));
  sessionStorage.removeItem(LEFT_FROM);
  return left;
}

interface SignInProps {
  arrival: Arrival | null;
  ended: boolean;
  openId: string; // the host of the provider; empty: there is none
  onSession: (session: Session) => void;
}

export function SignInView({ arrival, ended, openId, onSession }: SignInProps) {
  const [token, setToken] = useState("");
  const [message, setMessage] = useState(arrival?.refusal ?? "");
  const [busy, setBusy] = useState(arrival?.secret !== undefined);
  const attempt = async (act: () => Promise<void>) => {
    setBusy(true);
    setMessage("");
    try {
      await act();
    } catch (error) {
      setMessage(error instanceof Problem ? error.message : String(error));
      setBusy(false);
    }
  };
  const send = (secret: Secret) =>
    attempt(async () => {
      const session = await signIn(secret);
      setToken("");
      if (location.pathname === SIGN_IN) go(takeLeftView(), "replace");
      onSession(session);
    });
  const leave = () =>
    attempt(async () => {
      const { address } = await openIdAddress();
      sessionStorage.setItem(LEFT_FROM, location.pathname === SIGN_IN ? "/" : location.pathname + location.search);
      location.assign(address);
    });
  useEffect(() => {
    if (arrival?.secret) void send(arrival.secret);
    // The browser may come back from the provider to this very document.
    const again = (event: PageTransitionEvent) => event.persisted && setBusy(false);
    addEventListener("pageshow", again);
    return () => removeEventListener("pageshow", again);
  }, []);
  return (
    <main class="sign-in" tabIndex={-1}>
      <h1>
        <span class="brand-mark">
          <Icon name="queue" />
        </span>
        Berth
      </h1>
      {ended && <p>The session has ended. Sign in again.</p>}
      {openId && (
        <>
          <button type="button" class="primary" disabled={busy} onClick={() => void leave()}>
            Sign in at {openId}
          </button>
          <p class="quiet">Or with a token:</p>
        </>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) void send({ token: token.trim() });
        }}
      >
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={token}
            disabled={busy}
            aria-describedby="token-help"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p id="token-help" class="quiet">
          Of a ServiceAccount or a user: <code>kubectl create token NAME</code>. The page shows what its owner may list.
        </p>
        <button type="submit" class={openId ? undefined : "primary"} disabled={busy || !token.trim()}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p class="problem" role="alert">
        {message}
      </p>
    </main>
  );
}
