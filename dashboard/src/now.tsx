// The first view: what waits and why, the queues as a tree, the longest waits, capacity that was
// asked for, and what somebody should look at.
import type { Queue } from "./api";
import { count, plural } from "./format";
import { useCounts, useList, type Counts } from "./live";
import { Age, clock, Empty, Eta, Notice, Panel, State, UseBar } from "./parts";
import { Link, paths } from "./router";
import { useStore } from "./store";
import { treeOf, type Cohort } from "./tree";

const LONG_WAIT_MS = 24 * 3_600_000;
const MOST_QUEUES = 1_000;
const OPEN_REQUESTS = "Pending,Accepted";

export function NowView() {
  const states = useCounts("workloads", "state");
  const causes = useCounts("workloads", "cause");
  const queues = useList("queues", {}, MOST_QUEUES);
  const oldest = useList("workloads", { state: "waiting,reserved", sort: "waitingSince" }, 10);
  const asked = useList("capacityrequests", { state: OPEN_REQUESTS, sort: "createdAt" }, 10);
  const number = (state: string) => states.values?.find((each) => each.value === state)?.count ?? 0;
  return (
    <>
      <h1>Now</h1>
      <ul class="figures" aria-label="Workloads by state">
        {["waiting", "reserved", "running", "stopping", "failed"].map((state) => (
          <li key={state}>
            <Link to={paths.workloads({ state })}>
              <b>{states.values ? count(number(state)) : "…"}</b>
              <State state={state} />
            </Link>
          </li>
        ))}
      </ul>
      <Alerts queues={queues.rows} oldest={oldest.rows[0]?.waitingSince ?? null} />
      <div class="columns">
        <Panel title="Why workloads wait">
          <Causes {...causes} />
        </Panel>
        <Panel title="Longest waits" aside={<Link to={paths.workloads({ state: "waiting,reserved", sort: "waitingSince" })}>all</Link>}>
          <Empty list={oldest}>Nothing waits.</Empty>
          {oldest.rows.length > 0 && (
            <ul class="rows">
              {oldest.rows.map((row) => (
                <li key={row.id}>
                  <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link>
                  <span class="figure">
                    <Age since={row.waitingSince} /> · ETA <Eta eta={row.eta} />
                  </span>
                  <p>{row.remark}</p>
                </li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
      <Panel title="Queues">
        <Empty list={queues}>There are no queues yet: create a ClusterQueue and a LocalQueue that feeds it.</Empty>
        {queues.rows.length > 0 && <Tree queues={queues.rows} />}
        {queues.hasMore && <p class="quiet">The first {count(MOST_QUEUES)} queues are shown.</p>}
      </Panel>
      <Panel title="Capacity that was asked for" aside={<Link to={paths.capacity()}>all</Link>}>
        <Empty list={asked}>No request for capacity is open.</Empty>
        {asked.rows.length > 0 && (
          <ul class="rows">
            {asked.rows.map((row) => (
              <li key={row.id}>
                {row.workload ? <Link to={paths.workload(`${row.namespace}/${row.workload}`)}>{row.id}</Link> : <span>{row.id}</span>}
                <span class="figure">
                  {row.state} · {row.class} · <Age since={row.createdAt} />
                </span>
                <p>{row.message}</p>
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </>
  );
}

function Causes({ values, problem }: Counts) {
  if (problem) return <Notice kind="problem">{problem.message}</Notice>;
  if (values === null) return <Notice kind="loading">Loading…</Notice>;
  const causes = values.filter((each) => each.value !== "");
  if (causes.length === 0) return <Notice kind="empty">Nothing waits.</Notice>;
  const most = Math.max(...causes.map((each) => each.count));
  const sorted = [...causes].sort((a, b) => b.count - a.count);
  return (
    <ul class="causes">
      {sorted.map((each) => (
        <li key={each.value}>
          <Link to={paths.workloads({ cause: each.value })}>{each.value}</Link>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar-used" width={(100 * each.count) / most} height="10" />
          </svg>
          <span class="figure">{count(each.count)}</span>
        </li>
      ))}
    </ul>
  );
}

function Alerts({ queues, oldest }: { queues: Queue[]; oldest: string | null }) {
  const misconfigured = useCounts("workloads", "state", { cause: "misconfigured" });
  const requests = useCounts("capacityrequests", "state");
  const now = useStore(clock);
  const alerts = [];
  const stopped = queues.filter((queue) => queue.stopPolicy !== "None" && queue.waiting > 0);
  for (const queue of stopped.slice(0, 5)) {
    alerts.push(
      <li key={`stopped ${queue.name}`}>
        <Link to={paths.queue(queue.name)}>{queue.name}</Link> is stopped ({queue.stopPolicy}) while {plural(queue.waiting, "workload")} wait in it.
      </li>,
    );
  }
  const wrong = (misconfigured.values ?? []).reduce((total, each) => total + each.count, 0);
  if (wrong > 0) {
    alerts.push(
      <li key="misconfigured">
        <Link to={paths.workloads({ cause: "misconfigured" })}>{plural(wrong, "workload")}</Link> cannot run until somebody changes an object.
      </li>,
    );
  }
  const failed = requests.values?.find((each) => each.value === "Failed")?.count ?? 0;
  if (failed > 0) {
    alerts.push(
      <li key="failed">
        <Link to={paths.capacity({ state: "Failed" })}>{plural(failed, "request")}</Link> for capacity failed.
      </li>,
    );
  }
  if (oldest !== null && now - Date.parse(oldest) > LONG_WAIT_MS) {
    alerts.push(
      <li key="oldest">
        The longest wait is <Age since={oldest} />.
      </li>,
    );
  }
  if (alerts.length === 0) return null;
  return (
    <Panel title="To look at">
      <ul class="alerts">{alerts}</ul>
    </Panel>
  );
}

function Tree({ queues }: { queues: Queue[] }) {
  return <Branch cohort={treeOf(queues)} />;
}

function Branch({ cohort }: { cohort: Cohort }) {
  return (
    <ul class="tree">
      {[...cohort.cohorts.values()].map((below) => (
        <li key={`cohort ${below.name}`}>
          <div class="cohort">{below.name} (cohort)</div>
          <Branch cohort={below} />
        </li>
      ))}
      {cohort.queues.map((queue) => (
        <li key={queue.name}>
          <div class="queue">
            <span class="queue-name">
              <Link to={paths.queue(queue.name)}>{queue.name}</Link>
              {queue.strategy === "StrictFIFO" && <small> StrictFIFO</small>}
              {queue.stopPolicy !== "None" && <small class="warn"> {queue.stopPolicy}</small>}
            </span>
            <span class="figure">
              {count(queue.waiting)} waiting · {count(queue.running)} running
            </span>
            <span class="uses">
              {queue.resources.map((use) => (
                <UseBar key={use.resource} use={use} />
              ))}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
