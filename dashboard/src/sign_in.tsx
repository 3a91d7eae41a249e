// Sign-in with a token, or with the code that `berth up --dashboard` prints. The code stands in the
// fragment of the address, which browsers do not send; it is taken out of the address at once.
import { useEffect, useState } from "preact/hooks";
import { Problem, signIn, type Session } from "./api";
import { Icon } from "./icons";
import { go } from "./router";

export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export function SignInView({ code, ended, onSession }: { code: string | null; ended: boolean; onSession: (session: Session) => void }) {
  const [token, setToken] = useState("");
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(code !== null);
  const send = async (secret: { token: string } | { code: string }) => {
    setBusy(true);
    setMessage("");
    try {
      const session = await signIn(secret);
      setToken("");
      if (location.pathname === "/sign-in") go("/", "replace");
      onSession(session);
    } catch (error) {
      setMessage(error instanceof Problem ? error.message : String(error));
      setBusy(false);
    }
  };
  useEffect(() => {
    if (code !== null) void send({ code });
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
        <button type="submit" class="primary" disabled={busy || !token.trim()}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p class="problem" role="alert">
        {message}
      </p>
    </main>
  );
}
