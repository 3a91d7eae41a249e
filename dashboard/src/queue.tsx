// One ClusterQueue: its quota, who waits in which order, who runs.
import type { Queue, Workload } from "./api";
import { amount, count, plural } from "./format";
import { ActionButton } from "./actions";
import { QueueHistory, ShareHistory } from "./history";
import { scope, useList } from "./live";
import { QuotaChanges } from "./what_if";
import { Age, Empty, Eta, Notice, Panel, Table, UseBar, Words } from "./parts";
import { Link, paths } from "./router";
import { Rows, type Column } from "./rows";
import { useStore } from "./store";
import { borrowingOf, rootOf } from "./tree";

const MOST_PEERS = 30; // that are shown
const FIELDS = "namespace,name,localQueue,priority,state,cause,createdAt,waitingSince,turn,eta,remark,clusterQueue";

// Shown to readers who see all rows of the queue: the place of others is in the view of their workload.
const nextColumn: Column<Workload> = { title: "Next", kind: "number", narrow: "second", cell: (_, index) => index + 1 };
const waitingColumns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Waits", kind: "number", narrow: "second", cell: (row) => <Age since={row.waitingSince} /> },
  { title: "ETA", kind: "number", narrow: "second", cell: (row) => <Eta eta={row.eta} /> },
  { title: "Why", kind: "wide", cell: (row) => <Remark row={row} /> },
];
const runningColumns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "LocalQueue", cell: (row) => row.localQueue },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Age", kind: "number", narrow: "second", cell: (row) => <Age since={row.createdAt} /> },
  { title: "Where", kind: "wide", cell: (row) => <Remark row={row} /> },
];

function Remark({ row }: { row: Workload }) {
  return (
    <span title={row.remark}>
      <Words text={row.remark} />
    </span>
  );
}

export function QueueView({ name }: { name: string }) {
  const queues = useList("queues", {}, 1_000);
  const waiting = useList("workloads", { clusterQueue: name, state: "waiting", sort: "turn", fields: FIELDS });
  const running = useList("workloads", { clusterQueue: name, state: "reserved,running,stopping", sort: "-createdAt", fields: FIELDS });
  const queue = queues.rows.find((each) => each.name === name);
  const isWhole = useStore(scope) === "";
  // Those of the same cohort first.
  const tree = queue?.cohort ? queues.rows.filter((each) => rootOf(each) === rootOf(queue) && each.name !== name) : [];
  const own = tree.filter((each) => each.cohort === queue?.cohort);
  const peers = [...own, ...tree.filter((each) => each.cohort !== queue?.cohort)];
  return (
    <>
      <h1>Queue {name}</h1>
      {!queue && queues.rows.length > 0 && <Notice kind="empty">There is no such queue that you may see.</Notice>}
      <Empty list={queues}>There is no such queue that you may see.</Empty>
      {queue && (
        <>
          <p class="headline">
            {plural(queue.waiting, "workload")} waiting, {count(queue.running)} running · {queue.strategy}
            {queue.cohort && <> · cohort {[queue.cohort, ...queue.parents].join(" in ")}</>}
            {queue.weightedShare !== null && <> · share {queue.weightedShare}</>}
            {queue.stopPolicy !== "None" && <b class="warn"> · stopped: {queue.stopPolicy}</b>}
            {queue.inactive && <b class="warn"> · inactive: {queue.inactive}</b>}
          </p>
          <div class="actions">
            {queue.stopPolicy === "None" ? (
              <>
                <ActionButton action={{ action: "stop", clusterQueue: name }} ask="Nothing new starts in this queue. What runs goes on.">
                  Stop
                </ActionButton>
                <ActionButton action={{ action: "stop", clusterQueue: name, drain: true }} ask="Nothing new starts in this queue, and what runs is stopped.">
                  Stop and drain
                </ActionButton>
              </>
            ) : (
              <ActionButton action={{ action: "resume", clusterQueue: name }}>Resume</ActionButton>
            )}
          </div>
          <Panel title="Quota">
            {queue.resources.length === 0 && <Notice kind="empty">The queue has no quota.</Notice>}
            {queue.resources.map((use) => (
              <UseBar key={use.resource} use={use} wide />
            ))}
            <FlavorQuotas queue={queue} />
          </Panel>
          <QuotaChanges queue={queue} />
          <QueueHistory name={name} />
          <ShareHistory queue={queue} peers={own} />
        </>
      )}
      <Panel title="Waiting, next first" aside={<Link to={paths.workloads({ clusterQueue: name, state: "waiting", sort: "turn" })}>as a list</Link>}>
        <Empty list={waiting}>Nothing waits here.</Empty>
        {waiting.hasChanged && (
          <button type="button" onClick={waiting.again}>
            The order has changed: show it
          </button>
        )}
        {waiting.rows.length > 0 && <Rows list={waiting} columns={isWhole ? [nextColumn, ...waitingColumns] : waitingColumns} label="Waiting workloads in their order" most={10} />}
      </Panel>
      <Panel title="With quota">
        <Empty list={running}>Nothing runs here.</Empty>
        {running.rows.length > 0 && <Rows list={running} columns={runningColumns} label="Workloads with quota" most={10} />}
      </Panel>
      {queue && peers.length > 0 && (
        <Panel title={`Queues of the tree of cohort ${rootOf(queue)}`}>
          {borrowingOf([queue, ...peers]).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <ul class="tree">
            {peers.slice(0, MOST_PEERS).map((each) => (
              <li key={each.name}>
                <div class="queue">
                  <span class="queue-name">
                    <Link to={paths.queue(each.name)}>{each.name}</Link>
                  </span>
                  <span class="figure">
                    {count(each.waiting)} waiting · {count(each.running)} running
                  </span>
                  <span class="uses">
                    {each.resources.map((use) => (
                      <UseBar key={use.resource} use={use} />
                    ))}
                  </span>
                </div>
              </li>
            ))}
          </ul>
          {peers.length > MOST_PEERS && (
            <p class="quiet">
              {plural(peers.length - MOST_PEERS, "further queue")} of the tree: <Link to={paths.now}>all</Link>
            </p>
          )}
        </Panel>
      )}
    </>
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
