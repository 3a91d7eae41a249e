// The page: session, frame, and the view of the address.
import "./page.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session as readSession, signOut, type Problem, type Session } from "./api";
import { CapacityView } from "./capacity";
import { connection, hasActions, scope, secret, signedOut, stream } from "./live";
import { NowView } from "./now";
import { exactTimes, Notice } from "./parts";
import { QueueView } from "./queue";
import { ReportsView } from "./reports";
import { address, Link, paths } from "./router";
import routes from "./routes.json";
import { SignInView, takeCode } from "./sign_in";
import { useStore } from "./store";
import { TopologyView } from "./topology";
import { WorkloadView } from "./workload";
import { WorkloadsView } from "./workloads";

const code = takeCode();

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState("");
  const ended = useStore(signedOut);
  const enter = (known: Session) => {
    signedOut.set(false);
    secret.set(known.csrf ?? "");
    hasActions.set(known.actions === true);
    if (known.signedIn) stream.start();
    setSession(known);
  };
  useEffect(() => {
    if (code !== null) return setSession({ signedIn: false });
    readSession().then(enter, (error: Problem) => setProblem(error.message));
  }, []);
  useEffect(() => {
    if (ended) stream.stop(true);
  }, [ended]);
  if (problem) {
    return (
      <main class="sign-in">
        <h1>Berth</h1>
        <Notice kind="problem">
          <p>{problem}</p>
          <button type="button" onClick={() => location.reload()}>
            Try again
          </button>
        </Notice>
      </main>
    );
  }
  if (!session) return <Notice kind="loading">Loading…</Notice>;
  if (!session.signedIn || ended) return <SignInView code={session.signedIn ? null : code} ended={ended} onSession={enter} />;
  const leave = () => {
    stream.stop(true);
    void signOut(session.csrf ?? "").catch(() => null).then(() => setSession({ signedIn: false }));
  };
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <Bar user={session.user ?? ""} onLeave={session.csrf ? leave : null} />
      <Lost />
      <main id="main" tabIndex={-1}>
        <View />
      </main>
    </>
  );
}

function Bar({ user, onLeave }: { user: string; onLeave: (() => void) | null }) {
  const { path } = useStore(address);
  const isExact = useStore(exactTimes) !== "";
  const namespaces = useStore(scope);
  const state = useStore(connection);
  return (
    <header class="bar">
      <nav aria-label="Views">
        <Link to={paths.now} class="brand" current={path === "/"}>
          Berth
        </Link>
        {routes.map(({ path: view, label }) => label && (
          <Link key={view} to={view} current={path === view || path.startsWith(`${view}/`)}>
            {label}
          </Link>
        ))}
      </nav>
      <div class="bar-tools">
        <label>
          Namespaces
          <input
            type="text"
            value={namespaces}
            placeholder="all"
            spellcheck={false}
            onChange={(event) => scope.set(event.currentTarget.value.replaceAll(/\s+/g, ""))}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={isExact} onChange={(event) => exactTimes.set(event.currentTarget.checked ? "1" : "")} /> exact times
        </label>
        <span class={`connection connection-${state}`} role="status">
          {state === "live" ? "live" : state === "lost" ? "connection lost" : "connecting"}
        </span>
        <span class="user" title={user}>
          {user}
        </span>
        {onLeave && (
          <button type="button" onClick={onLeave}>
            Sign out
          </button>
        )}
      </div>
    </header>
  );
}

function Lost() {
  if (useStore(connection) !== "lost") return null;
  return (
    <div class="lost" role="alert">
      The connection is lost. What is shown may be out of date; the page tries again by itself.
    </div>
  );
}

function View() {
  const { parts } = useStore(address);
  const [first, second, third] = parts;
  const key = parts.join("/");
  useEffect(() => {
    document.title = parts.length === 0 ? "Berth" : `${parts.slice(1).join("/") || parts[0]} – Berth`;
  }, [key]);
  if (first === undefined || first === "sign-in") return <NowView />;
  if (first === "workloads" && parts.length === 1) return <WorkloadsView />;
  if (first === "workloads" && second && third && parts.length === 3) return <WorkloadView key={key} namespace={second} name={third} />;
  if (first === "capacity" && parts.length === 1) return <CapacityView />;
  if (first === "topology" && parts.length === 1) return <TopologyView />;
  if (first === "reports" && parts.length === 1) return <ReportsView />;
  if (first === "queues" && second && parts.length === 2) return <QueueView key={key} name={second} />;
  return (
    <>
      <h1>No such view</h1>
      <p>
        <Link to={paths.now}>To the first view</Link>
      </p>
    </>
  );
}

const root = document.getElementById("page");
if (root) render(<App />, root);
