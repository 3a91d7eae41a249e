// The first view: what waits and why, the queues as a tree, the longest waits, capacity that was
// asked for, and what somebody should look at.
import { capacity, type CapacityRequest, type Cohort as CohortRow, type Queue } from "./api";
import { restingOf, unservedOf } from "./alerts";
import { count, plural } from "./format";
import { scope, useAnswer, useCounts, useList, type Counts } from "./live";
import { Age, clock, Empty, Eta, Notice, Panel, State, UseBar, When, Words } from "./parts";
import { Link, paths } from "./router";
import { useStore } from "./store";
import { treeOf, type Cohort } from "./tree";

const MOST_OF_A_KIND = 5; // of alerts
const SUPPLY_PAUSE_MS = 30_000;
const LONG_WAIT_MS = 24 * 3_600_000;
const MOST_QUEUES = 1_000;
const MOST_UNANSWERED = 200;
const OPEN_REQUESTS = "Pending,Accepted";

export function NowView() {
  const states = useCounts("workloads", "state");
  const causes = useCounts("workloads", "cause");
  const queues = useList("queues", {}, MOST_QUEUES);
  const cohorts = useList("cohorts", {}, MOST_QUEUES);
  const unanswered = useList("capacityrequests", { state: "Pending", sort: "createdAt" }, MOST_UNANSWERED);
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
      <Alerts queues={queues.rows} unanswered={unanswered.rows} oldest={oldest.rows[0]?.waitingSince ?? null} />
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
                  <p>
                    <Words text={row.remark} />
                  </p>
                </li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
      <Panel title="Queues">
        <Empty list={queues}>There are no queues yet: create a ClusterQueue and a LocalQueue that feeds it.</Empty>
        {queues.rows.length > 0 && <Branch cohort={treeOf(queues.rows, cohorts.rows)} />}
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
                <p>
                  <Words text={row.message} />
                </p>
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

interface AlertsOf {
  queues: Queue[];
  unanswered: CapacityRequest[];
  oldest: string | null;
}

function Alerts({ queues, unanswered, oldest }: AlertsOf) {
  const namespace = useStore(scope);
  const misconfigured = useCounts("workloads", "state", { cause: "misconfigured" });
  const requests = useCounts("capacityrequests", "state");
  const supply = useAnswer("capacityrequests", `capacity ${namespace}`, () => capacity(namespace), { pause: SUPPLY_PAUSE_MS });
  const now = useStore(clock);
  const alerts = [];
  for (const { name, inactive } of queues.filter((queue) => queue.inactive !== "").slice(0, MOST_OF_A_KIND)) {
    alerts.push(
      <li key={`inactive ${name}`}>
        <Link to={paths.queue(name)}>{name}</Link> admits nothing: {inactive}
      </li>,
    );
  }
  for (const each of unservedOf(unanswered, now).slice(0, MOST_OF_A_KIND)) {
    alerts.push(
      <li key={`unserved ${each.class}`}>
        <Link to={paths.capacity({ state: "Pending", class: each.class })}>{plural(each.count, "job")}</Link> {each.count === 1 ? "waits" : "wait"} for a class that
        nobody serves: {each.class}, since <When at={each.since} />.
      </li>,
    );
  }
  for (const each of restingOf(supply.answer?.stock ?? [], now).slice(0, MOST_OF_A_KIND)) {
    alerts.push(
      <li key={`resting ${each.class}`}>
        Class {each.class} is not asked until <When at={each.until} />
        {each.reason && <>: {each.reason}</>}.
      </li>,
    );
  }
  const stopped = queues.filter((queue) => queue.stopPolicy !== "None" && queue.waiting > 0);
  for (const queue of stopped.slice(0, MOST_OF_A_KIND)) {
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

function Branch({ cohort }: { cohort: Cohort }) {
  return (
    <ul class="tree">
      {[...cohort.cohorts.values()].map((below) => (
        <li key={`cohort ${below.name}`}>
          <CohortLine name={below.name} row={below.row} />
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
              {queue.inactive !== "" && <small class="warn"> inactive</small>}
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

// The quota and the use of all that is below, with the cohort's own quota.
function CohortLine({ name, row }: { name: string; row: CohortRow | null }) {
  return (
    <div class="queue cohort">
      <span class="queue-name">{name} (cohort)</span>
      <span class="figure">{row && row.weightedShare !== null ? `share ${count(row.weightedShare)}` : ""}</span>
      <span class="uses">
        {(row?.resources ?? []).map((use) => (
          <UseBar key={use.resource} use={use} />
        ))}
      </span>
    </div>
  );
}
