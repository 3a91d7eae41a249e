// The page: session, frame, and the view of the address.
import "./page.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session as readSession, signOut, type Problem, type Session } from "./api";
import { startAppearance } from "./appearance";
import { CapacityView } from "./capacity";
import { Frame } from "./frame";
import { forgetAnswers, hasActions, secret, signedOut, stream } from "./live";
import { NowView } from "./now";
import { Notice } from "./parts";
import { QueueView } from "./queue";
import { ReportsView } from "./reports";
import { address, Link, paths } from "./router";
import { SignInView, takeArrival } from "./sign_in";
import { useStore } from "./store";
import { TopologyView } from "./topology";
import { forgetSeen, Watcher } from "./watch";
import { WorkloadView } from "./workload";
import { WorkloadsView } from "./workloads";

let arrival = takeArrival();

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState("");
  const ended = useStore(signedOut);
  const enter = (known: Session) => {
    if (known.signedIn) arrival = null; // it counts once
    signedOut.set(false);
    secret.set(known.csrf ?? "");
    hasActions.set(known.actions === true);
    if (known.signedIn) stream.start();
    setSession(known);
  };
  useEffect(() => {
    readSession().then(
      (known) => enter(arrival === null ? known : { ...known, signedIn: false }),
      (error: Problem) => setProblem(error.message),
    );
  }, []);
  useEffect(() => {
    if (!ended) return;
    stream.stop(true);
    forgetAnswers();
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
  if (!session) return null;
  if (!session.signedIn || ended) {
    return <SignInView arrival={session.signedIn ? null : arrival} ended={ended} openId={session.openId ?? ""} onSession={enter} />;
  }
  const leave = () => {
    stream.stop(true);
    forgetAnswers();
    forgetSeen();
    void signOut(session.csrf ?? "").catch(() => null).then(() => setSession({ ...session, signedIn: false }));
  };
  return (
    <>
      <Watcher user={session.user ?? ""} />
      <Frame user={session.user ?? ""} cluster={session.cluster ?? ""} onLeave={session.csrf ? leave : null}>
        <View cluster={session.cluster ?? ""} />
      </Frame>
    </>
  );
}

function View({ cluster }: { cluster: string }) {
  const { parts } = useStore(address);
  const [first, second, third] = parts;
  const key = parts.join("/");
  useEffect(() => {
    const view = parts.slice(1).join("/") || parts[0];
    document.title = [view, cluster, "Berth"].filter(Boolean).join(" – ");
  }, [key, cluster]);
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

startAppearance();
const root = document.getElementById("page");
if (root) render(<App />, root);
