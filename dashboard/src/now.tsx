// The first view: is it healthy, who waits and why, what comes next; the last hours, the queues, and capacity that was
// asked for.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { AlertList } from "./alert_list";
import type { Cohort, Count, Queue, Workload } from "./api";
import { amount, count, plural } from "./format";
import { Icon } from "./icons";
import { countOf, useList, type List } from "./live";
import { startsOf } from "./next";
import { NowCharts } from "./now_charts";
import { Age, clock, Empty, Eta, Notice, Panel, Skeleton, State, Words } from "./parts";
import { QueueTree } from "./queue_tree";
import { QuotaFlows } from "./quota_flows";
import { Link, paths } from "./router";
import { useStore } from "./store";
import type { Total } from "./totals";
import { treeOf } from "./tree";
import { known, type Known } from "./watch";
import { causeColor, causeLabel, causeMeaning, plain, remarkOf } from "./words";

const MOST_COHORTS = 1_000;
const MOST_QUEUES = 1_000;
const OPEN_REQUESTS = "Pending,Accepted";
const FIELDS = "namespace,name,clusterQueue,state,cause,waitingSince,turn,eta,remark";
const FEW_CAUSES = 2; // below more causes there is less room for queues
const MOST_LOOKED_AT = 200; // for the next starts

export function NowView() {
  const now = useStore(known);
  const cohorts = useList("cohorts", {}, MOST_COHORTS);
  const oldest = useList("workloads", { state: "waiting,reserved", sort: "waitingSince", fields: FIELDS }, 5);
  const turns = useList("workloads", { state: "waiting,reserved", sort: "turn", fields: FIELDS }, MOST_LOOKED_AT);
  const asked = useList("capacityrequests", { state: OPEN_REQUESTS, sort: "createdAt" }, 8);
  const queues = now?.queues;
  return (
    <>
      <Verdict now={now} next={startsOf(turns.rows, 1)[0] ?? null} />
      <Figures states={now?.states ?? null} main={now?.main ?? null} nodes={now?.nodes ?? null} />
      <AlertList alerts={now?.alerts ?? []} />
      <div class="board">
        <div class="third">
          <Panel title="Why workloads wait">
            <Causes values={now?.causes ?? null} problem={now?.problem?.message ?? ""} />
            <WaitingQueues queues={queues?.rows ?? []} most={(now?.causes ?? []).length > FEW_CAUSES ? 3 : 5} />
          </Panel>
        </div>
        <div class="third">
          <Panel title="Next starts, by forecast">
            <NextStarts list={turns} />
          </Panel>
        </div>
        <div class="third rest">
          <Panel title="Longest waits" aside={<Link to={paths.workloads({ state: "waiting,reserved", sort: "waitingSince" })}>all</Link>}>
            <Empty list={oldest}>Nothing waits.</Empty>
            <Waits rows={oldest.rows} />
          </Panel>
        </div>
        {queues && !queues.loading && <NowCharts main={now.main} />}
        <div>
          <Panel title="Queues">
            {queues ? <Empty list={queues}>There are no queues yet: create a ClusterQueue and a LocalQueue that feeds it.</Empty> : <Skeleton />}
            {queues && queues.rows.length > 0 && <QueueTree root={treeOf(queues.rows, cohorts.rows)} />}
            {queues?.rows.some((queue) => queue.cohort !== "" && queue.resources.some((use) => use.borrowed > 0)) && <Lending cohorts={cohorts.rows} />}
            {queues?.hasMore && <p class="quiet">The first {count(queues.rows.length)} queues are shown.</p>}
          </Panel>
        </div>
        <div>
          <Panel title="Capacity that was asked for" aside={<Link to={paths.capacity()}>all</Link>}>
            <Empty list={asked}>No request for capacity is open.</Empty>
            {asked.rows.length > 0 && (
              <ul class="rows">
                {asked.rows.map((row) => (
                  <li key={row.id}>
                    {row.workload ? <Link to={paths.workload(`${row.namespace}/${row.workload}`)}>{row.id}</Link> : <span>{row.id}</span>}
                    <span class="figure">
                      {row.state === "Accepted" ? "accepted by the cloud" : "no answer yet"} · {row.class} · <Age since={row.createdAt} />
                    </span>
                    <p title={row.message}>
                      <Words text={plain(row.message)} />
                    </p>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}

// Who lends to whom, by tree of cohorts. The queues are asked for with their flavors when a reader wants to see it.
function Lending({ cohorts }: { cohorts: Cohort[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Who lends to whom</summary>
      {isOpen && <Lent cohorts={cohorts} />}
    </details>
  );
}

function Lent({ cohorts }: { cohorts: Cohort[] }) {
  const queues = useList("queues", {}, MOST_QUEUES);
  const roots = useMemo(() => [...treeOf(queues.rows, cohorts).cohorts.values()], [queues.rows, cohorts]);
  return (
    <>
      <Empty list={queues}>There are no queues.</Empty>
      {roots.map((root) => (
        <QuotaFlows key={root.name} cohort={root} title={`Tree of cohort ${root.name}`} />
      ))}
    </>
  );
}

// One sentence that says how it stands.
function Verdict({ now, next }: { now: Known | null; next: Workload | null }) {
  const alerts = now?.alerts ?? [];
  const level = alerts.some((each) => each.severity === "bad") ? "bad" : alerts.length > 0 ? "warn" : "good";
  const of = (state: string) => countOf(now?.states ?? null, state);
  const waits = of("waiting") + of("reserved");
  const most = [...(now?.causes ?? [])].filter((each) => each.value !== "").sort((a, b) => b.count - a.count)[0];
  let words: ComponentChildren = now?.problem ? now.problem.message : "Reading the cluster.";
  if (now?.states) {
    words = (
      <>
        {plural(of("running"), "workload")} {of("running") === 1 ? "runs" : "run"}, {waits === 0 ? "nothing waits" : `${count(waits)} ${waits === 1 ? "waits" : "wait"}`}
        {most && waits > 0 && <> (mostly: {causeLabel(most.value)})</>}.
        {next && (
          <>
            {" "}
            Next to start: <Link to={paths.workload(next.id)}>{`${next.namespace}/${next.name}`}</Link> (<Eta eta={next.eta} />).
          </>
        )}
      </>
    );
  }
  return (
    <div class={`verdict verdict-${now?.states ? level : "none"}`}>
      <h1>
        {now?.states && <Icon name={level} size={22} />}
        {!now?.states ? "Now" : alerts.length === 0 ? "Now: all is well" : `Now: ${plural(alerts.length, "thing")} to look at`}
      </h1>
      <p>{words}</p>
    </div>
  );
}

const SHOWN_STATES = ["waiting", "reserved", "running", "stopping", "failed"];
const MEANINGS: Record<string, string> = { waiting: "in a queue", reserved: "have quota, wait for machines", running: "admitted", stopping: "being stopped", failed: "ended with an error" };

function Figures({ states, main, nodes }: { states: Count[] | null; main: Total | null; nodes: number | null }) {
  const share = main && main.quota ? Math.min(100, (100 * main.used) / main.quota) : 0;
  return (
    <ul class="figures" aria-label="Workloads by state">
      {SHOWN_STATES.map((state) => (
        <li key={state}>
          <Link to={paths.workloads({ state })}>
            <State state={state} size={16} />
            <b>{states ? count(countOf(states, state)) : "–"}</b>
            <small>{MEANINGS[state]}</small>
          </Link>
        </li>
      ))}
      {main && (
        <li>
          <div>
            <span class="state">{main.resource} in use</span>
            <b>
              {amount(main.used, main.unit)}
              {main.quota !== null && <small class="figures-of"> of {amount(main.quota, main.unit)}</small>}
            </b>
            {main.quota === null ? (
              <small>without a limit</small>
            ) : (
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" width="100%" height="10" aria-hidden="true">
                <rect class="bar-free" width="100" height="10" />
                <rect class="bar-used" width={share} height="10" />
              </svg>
            )}
            {nodes !== null && <small>{amount(nodes, main.unit)} on ready nodes</small>}
          </div>
        </li>
      )}
    </ul>
  );
}

// A link, a bar of `number` in a scale up to `most`, and the number.
function CountBar({ to, label, number, most, color }: { to: string; label: string; number: number; most: number; color: string }) {
  return (
    <>
      <Link to={to}>{label}</Link>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-free" width="100" height="10" />
        <rect fill={`var(${color})`} width={(100 * number) / most} height="10" />
      </svg>
      <span class="figure">{count(number)}</span>
    </>
  );
}

function Causes({ values, problem }: { values: Count[] | null; problem: string }) {
  if (values === null) return problem ? <Notice kind="problem">{problem}</Notice> : <Skeleton />;
  const causes = values.filter((each) => each.value !== "");
  if (causes.length === 0) return <Notice kind="empty">Nothing waits.</Notice>;
  const most = Math.max(...causes.map((each) => each.count));
  const sorted = [...causes].sort((a, b) => b.count - a.count);
  return (
    <ul class="causes">
      {sorted.map((each) => (
        <li key={each.value}>
          <CountBar to={paths.workloads({ cause: each.value })} label={causeLabel(each.value)} number={each.count} most={most} color={causeColor(each.value)} />
          <p>{causeMeaning(each.value)}</p>
        </li>
      ))}
    </ul>
  );
}

// In which queues most workloads wait, where they wait in several.
function WaitingQueues({ queues, most: mostShown }: { queues: Queue[]; most: number }) {
  const waiting = queues.filter((queue) => queue.waiting > 0).sort((a, b) => b.waiting - a.waiting || a.name.localeCompare(b.name));
  const most = waiting[0]?.waiting ?? 0;
  if (waiting.length < 2) return null;
  const further = waiting.length - mostShown;
  return (
    <>
      <h3>In which queues</h3>
      <ul class="causes">
        {waiting.slice(0, mostShown).map((queue) => (
          <li key={queue.name}>
            <CountBar to={paths.queue(queue.name)} label={queue.name} number={queue.waiting} most={most} color="--waiting" />
          </li>
        ))}
      </ul>
      {further > 0 && <p class="quiet">and in {plural(further, "further queue")}</p>}
    </>
  );
}

function NextStarts({ list }: { list: List<Workload> }) {
  useStore(clock);
  const next = startsOf(list.rows, 6);
  if (list.loading || list.problem) return <Empty list={list}>Nothing waits.</Empty>;
  if (list.rows.length === 0) return <Notice kind="empty">Nothing waits.</Notice>;
  if (next.length === 0) return <Notice kind="empty">No start is foretold yet: a forecast needs runs that have ended.</Notice>;
  return (
    <ol class="next">
      {next.map((row) => (
        <li key={row.id}>
          <b>
            <Eta eta={row.eta} />
          </b>
          <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link>
          <p>
            in {row.clusterQueue}, {causeLabel(row.cause)}
          </p>
        </li>
      ))}
    </ol>
  );
}

function Waits({ rows }: { rows: Workload[] }) {
  if (rows.length === 0) return null;
  return (
    <ul class="rows">
      {rows.map((row) => (
        <li key={row.id}>
          <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link>
          <span class="figure">
            <Age since={row.waitingSince} />
          </span>
          <p title={row.remark}>
            {causeLabel(row.cause)}
            {remarkOf(row) !== "" && (
              <>
                : <Words text={remarkOf(row)} />
              </>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}
