// One ClusterQueue: who is next and why, its quota, its past, and what another quota would do.
import { useMemo, useState } from "preact/hooks";
import type { Queue, WhatIf, Workload } from "./api";
import { ActionButton, Outcome, useAct } from "./actions";
import { placesOf } from "./behind";
import { amount, count, plural } from "./format";
import { QueueHistory, ShareHistory } from "./history";
import { Icon } from "./icons";
import { scope, useList, type List } from "./live";
import { startsOf } from "./next";
import { Age, Empty, Eta, EtaRange, Notice, Panel, State, Table, UseBar } from "./parts";
import { QueueLine } from "./queue_tree";
import { QuotaFlows } from "./quota_flows";
import { Remark } from "./remark";
import { Link, paths } from "./router";
import { Rows, type Column } from "./rows";
import { useStore } from "./store";
import { rootOf, treeOf } from "./tree";
import { Effect, QuotaChanges } from "./what_if";

const MOST_COHORTS = 1_000;
const MOST_PEERS = 30; // that are shown
const FIELDS = "namespace,name,localQueue,priority,state,cause,createdAt,waitingSince,turn,eta,remark,clusterQueue";
const WAITING_FIELDS = `${FIELDS},requests`;

function effectColumn(whatIf: WhatIf): Column<Workload> {
  const jobs = new Map(whatIf.jobs.map((job) => [`${job.namespace}/${job.workload}`, job]));
  return { title: "Then", kind: "number", narrow: "second", cell: (row) => <Effect job={jobs.get(row.id)} /> };
}

// Shown to readers who see all rows of the queue: the place of others is in the view of their workload.
const nextColumn: Column<Workload> = { title: "Next", kind: "number", narrow: "second", cell: (_, index) => index + 1 };
const waitingColumns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Waits", kind: "number", narrow: "second", cell: (row) => <Age since={row.waitingSince} /> },
  { title: "Starts", kind: "number", narrow: "second", cell: (row) => <Eta eta={row.eta} /> },
  { title: "8 of 10 start in", cell: (row) => <EtaRange eta={row.eta} /> },
];
const runningColumns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "State", cell: (row) => <State state={row.state} /> },
  { title: "LocalQueue", cell: (row) => row.localQueue },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Age", kind: "number", narrow: "second", cell: (row) => <Age since={row.createdAt} /> },
  { title: "Where it runs, or what it waits for", kind: "wide", cell: (row) => <Remark row={row} place={undefined} /> },
];

// The rows are in the order of the queue: no row before one of them is missing.
function useReasonColumn({ rows, hasMore }: List<Workload>): Column<Workload> {
  const places = useMemo(() => placesOf(rows, !hasMore), [rows, hasMore]);
  return { title: "Why it waits", kind: "wide", cell: (row) => <Remark row={row} place={places.get(row.id)} /> };
}

export function QueueView({ name }: { name: string }) {
  const queues = useList("queues", {}, 1_000);
  const waiting = useList("workloads", { clusterQueue: name, state: "waiting", sort: "turn", fields: WAITING_FIELDS });
  const running = useList("workloads", { clusterQueue: name, state: "reserved,running,stopping", sort: "-createdAt", fields: FIELDS });
  const queue = queues.rows.find((each) => each.name === name);
  const isWhole = useStore(scope) === "";
  const [whatIf, setWhatIf] = useState<WhatIf | null>(null);
  const reasonColumn = useReasonColumn(waiting);
  const columns = [...(isWhole ? [nextColumn] : []), ...waitingColumns.flatMap((each) => (each.title === "Starts" && whatIf ? [each, effectColumn(whatIf)] : [each])), reasonColumn];
  // Those of the same cohort first.
  const tree = queue?.cohort ? queues.rows.filter((each) => rootOf(each) === rootOf(queue) && each.name !== name) : [];
  const own = tree.filter((each) => each.cohort === queue?.cohort);
  const peers = [...own, ...tree.filter((each) => each.cohort !== queue?.cohort)];
  return (
    <>
      <h1>Queue {name}</h1>
      {!queue && queues.rows.length > 0 && <Notice kind="empty">There is no such queue that you may see.</Notice>}
      <Empty list={queues}>There is no such queue that you may see.</Empty>
      {queue && <Head queue={queue} next={startsOf(waiting.rows, 1)[0] ?? null} />}
      <Panel title="Waiting, next first" aside={<Link to={paths.workloads({ clusterQueue: name, state: "waiting", sort: "turn" })}>as a list</Link>}>
        <Empty list={waiting}>Nothing waits here.</Empty>
        {waiting.hasChanged && (
          <button type="button" onClick={waiting.again}>
            The order has changed: show it
          </button>
        )}
        {waiting.rows.length > 0 && <Rows list={waiting} columns={columns} label="Waiting workloads in their order" most={10} />}
      </Panel>
      {queue && (
        <div class="board">
          <div class="half">
            <Panel title="Quota">
              {queue.resources.length === 0 && <Notice kind="empty">The queue has no quota.</Notice>}
              {queue.resources.map((use) => (
                <UseBar key={use.resource} use={use} wide />
              ))}
              <FlavorQuotas queue={queue} />
            </Panel>
          </div>
          <div class="half">
            <QuotaChanges queue={queue} onAnswer={setWhatIf} />
          </div>
        </div>
      )}
      {queue && <QueueHistory queue={queue} />}
      {queue && <ShareHistory queue={queue} peers={own} />}
      <Panel title="With quota">
        <Empty list={running}>Nothing runs here.</Empty>
        {running.rows.length > 0 && <Rows list={running} columns={runningColumns} label="Workloads with quota" most={10} />}
      </Panel>
      {queue && (peers.length > 0 || queue.resources.some((use) => use.borrowed > 0)) && <Peers queue={queue} queues={queues.rows} peers={peers} />}
    </>
  );
}

// What the queue is, how full it is, and what starts next in it.
function Head({ queue, next }: { queue: Queue; next: Workload | null }) {
  const { name } = queue;
  const own = useAct();
  const level = queue.inactive ? "bad" : queue.stopPolicy !== "None" ? "warn" : "good";
  return (
    <>
      <div class={`verdict verdict-${level}`}>
        <p class="headline">
          <Icon name={level} /> {plural(queue.waiting, "workload")} {queue.waiting === 1 ? "waits" : "wait"}, {count(queue.running)} {queue.running === 1 ? "runs" : "run"}
          {queue.stopPolicy !== "None" && <b class="warn"> · stopped: {queue.stopPolicy}</b>}
          {queue.inactive && <b class="warn"> · inactive: {queue.inactive}</b>}
          {next && (
            <>
              {" "}
              · next to start: <Link to={paths.workload(next.id)}>{`${next.namespace}/${next.name}`}</Link> (<Eta eta={next.eta} />)
            </>
          )}
        </p>
        <span class="chips">
          <span class="chip">{queue.strategy === "StrictFIFO" ? "strict order" : "best effort: a later one may go first if the next does not fit"}</span>
          {queue.cohort && <span class="chip">cohort {[queue.cohort, ...queue.parents].join(" in ")}</span>}
          {queue.weightedShare !== null && <span class="chip">share {queue.weightedShare}</span>}
        </span>
      </div>
      <div class="actions">
        {queue.stopPolicy === "None" ? (
          <>
            <ActionButton by={own} action={{ action: "stop", clusterQueue: name }} ask="Nothing new starts in this queue. What runs goes on.">
              Stop
            </ActionButton>
            <ActionButton by={own} action={{ action: "stop", clusterQueue: name, drain: true }} ask="Nothing new starts in this queue, and what runs is stopped.">
              Stop and drain
            </ActionButton>
          </>
        ) : (
          <ActionButton by={own} action={{ action: "resume", clusterQueue: name }}>
            Resume
          </ActionButton>
        )}
        <Outcome {...own} />
      </div>
    </>
  );
}

// Who borrows from whom, and the queues of the tree of cohorts.
function Peers({ queue, queues, peers }: { queue: Queue; queues: Queue[]; peers: Queue[] }) {
  const cohorts = useList("cohorts", {}, MOST_COHORTS);
  const tree = useMemo(() => treeOf(queues, cohorts.rows).cohorts.get(rootOf(queue)), [queue, queues, cohorts.rows]);
  return (
    <Panel title={`Queues of the tree of cohort ${rootOf(queue)}`}>
      <div class="lending">
        <div>{tree && <QuotaFlows cohort={tree} own={queue.name} none="No queue of the tree borrows." />}</div>
        <div>
          <ul class="tree">
            {peers.slice(0, MOST_PEERS).map((each) => (
              <li key={each.name}>
                <QueueLine queue={each} />
              </li>
            ))}
          </ul>
          {peers.length > MOST_PEERS && (
            <p class="quiet">
              {plural(peers.length - MOST_PEERS, "further queue")} of the tree: <Link to={paths.now}>all</Link>
            </p>
          )}
        </div>
      </div>
    </Panel>
  );
}

// Shows, for each flavor, what is used, and what may be borrowed and lent.
function FlavorQuotas({ queue }: { queue: Queue }) {
  if (queue.flavors.length === 0) return null;
  const limit = (value: number | null, unit: string, none: string) => (value === null ? none : amount(value, unit));
  return (
    <Table
      heads={["Flavor", "Resource", "Used", "Quota", "May borrow", "May lend"]}
      numbers={[2, 3, 4, 5]}
      rows={queue.flavors.map((each) => [
        each.flavor,
        each.resource,
        amount(each.used ?? 0, each.unit),
        amount(each.nominal, each.unit),
        queue.cohort ? limit(each.borrowingLimit, each.unit, "no limit") : "–",
        queue.cohort ? limit(each.lendingLimit, each.unit, "all") : "–",
      ])}
    />
  );
}
