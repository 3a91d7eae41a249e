// One ClusterQueue: its quota, who waits in which order, who runs.
import type { Workload } from "./api";
import { count, plural } from "./format";
import { ActionButton } from "./actions";
import { QueueHistory, ShareHistory } from "./history";
import { useList } from "./live";
import { QuotaChanges } from "./what_if";
import { Age, Empty, Eta, Notice, Panel, UseBar } from "./parts";
import { Link, paths } from "./router";
import { Rows, type Column } from "./rows";

const FIELDS = "namespace,name,localQueue,priority,state,cause,createdAt,waitingSince,turn,eta,remark,clusterQueue";

const waitingColumns: Column<Workload>[] = [
  { title: "Next", kind: "number", cell: (_, index) => index + 1 },
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Waits", kind: "number", cell: (row) => <Age since={row.waitingSince} /> },
  { title: "ETA", kind: "number", cell: (row) => <Eta eta={row.eta} /> },
  { title: "Why", kind: "wide", cell: (row) => <span title={row.remark}>{row.remark}</span> },
];
const runningColumns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "LocalQueue", cell: (row) => row.localQueue },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Age", kind: "number", cell: (row) => <Age since={row.createdAt} /> },
  { title: "Where", kind: "wide", cell: (row) => <span title={row.remark}>{row.remark}</span> },
];

export function QueueView({ name }: { name: string }) {
  const queues = useList("queues", {}, 1_000);
  const waiting = useList("workloads", { clusterQueue: name, state: "waiting", sort: "turn", fields: FIELDS });
  const running = useList("workloads", { clusterQueue: name, state: "reserved,running,stopping", sort: "-createdAt", fields: FIELDS });
  const queue = queues.rows.find((each) => each.name === name);
  const peers = queue?.cohort ? queues.rows.filter((each) => each.cohort === queue.cohort && each.name !== name) : [];
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
          </Panel>
          <QuotaChanges queue={queue} />
          <QueueHistory name={name} />
          <ShareHistory queue={queue} peers={peers} />
        </>
      )}
      <Panel title="Waiting, next first" aside={<Link to={paths.workloads({ clusterQueue: name, state: "waiting", sort: "turn" })}>as a list</Link>}>
        <Empty list={waiting}>Nothing waits here.</Empty>
        {waiting.hasChanged && (
          <button type="button" onClick={waiting.again}>
            The order has changed: show it
          </button>
        )}
        {waiting.rows.length > 0 && <Rows list={waiting} columns={waitingColumns} label="Waiting workloads in their order" most={10} />}
      </Panel>
      <Panel title="With quota">
        <Empty list={running}>Nothing runs here.</Empty>
        {running.rows.length > 0 && <Rows list={running} columns={runningColumns} label="Workloads with quota" most={10} />}
      </Panel>
      {peers.length > 0 && (
        <Panel title="Queues of the same cohort">
          <ul class="tree">
            {peers.map((each) => (
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
        </Panel>
      )}
    </>
  );
}
