// Requests for capacity: how many are in which state, each with its age and the cloud's answer, and
// what pools and classes gave.
import { capacity, type Capacity, type CapacityPool, type CapacityRequest } from "./api";
import { StockAction } from "./actions";
import { CapacityOverTime } from "./capacity_history";
import { count, duration } from "./format";
import { shortly } from "./history";
import { hasActions, scope, useAnswer, useCounts, useList, type List } from "./live";
import { Age, clock, Empty, Notice, Panel, Skeleton, Table, When, Words } from "./parts";
import { address, change, Link, paths } from "./router";
import { RequestBar } from "./request_line";
import { lineStart } from "./request_spans";
import { Rows, type Column } from "./rows";
import { useStore } from "./store";
import { plain } from "./words";
import { Choice } from "./workloads";

const columnsOf = (from: number, now: number): Column<CapacityRequest>[] => [
  {
    title: "Request",
    kind: "main",
    cell: (row) => (row.workload ? <Link to={paths.workload(`${row.namespace}/${row.workload}`)}>{row.id}</Link> : row.id),
  },
  { title: "State", cell: (row) => row.state },
  { title: "Class", cell: (row) => <span title={row.class}>{row.class}</span> },
  { title: "Age", kind: "number", narrow: "second", cell: (row) => <Age since={row.createdAt} /> },
  { title: `Since ${shortly(from / 1000)}`, kind: "line", cell: (row) => <RequestBar row={row} from={from} now={now} /> },
  {
    title: "What the cloud says",
    kind: "wide",
    cell: (row) => (
      <span title={row.message}>
        {row.message === "" && row.state === "Pending" ? <span class="quiet">no answer yet</span> : <Words text={plain(row.message)} />}
      </span>
    ),
  },
];

export function CapacityView() {
  const { query } = useStore(address);
  const chosen = { state: query.get("state") ?? "", class: query.get("class") ?? "" };
  const list = useList("capacityrequests", { ...chosen, sort: "-createdAt" });
  const states = useCounts("capacityrequests", "state");
  const classes = useCounts("capacityrequests", "class");
  const set = (name: string, value: string) => change({ [name]: value });
  const choices = (values: { value: string; count: number }[] | null, now: string): [string, string][] => {
    const known = (values ?? []).map((each): [string, string] => [each.value, `${each.value} (${count(each.count)})`]);
    return [["", "any"], ...known, ...(now === "" || known.some(([value]) => value === now) ? [] : [[now, now] as [string, string]])];
  };
  // Without any request there is nothing to choose from.
  const hasChoices = chosen.state !== "" || chosen.class !== "" || (states.values ?? []).length > 0;
  return (
    <>
      <h1>Capacity</h1>
      {hasChoices && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Choice label="State" value={chosen.state} options={choices(states.values, chosen.state)} onChange={(value) => set("state", value)} />
          <Choice label="Class" value={chosen.class} options={choices(classes.values, chosen.class)} onChange={(value) => set("class", value)} />
          <output>{list.loading ? "…" : `${count(list.rows.length)}${list.hasMore ? " and more" : ""}`}</output>
        </form>
      )}
      <Empty list={list}>{hasChoices ? "No request for capacity is of this kind." : "There is no request for capacity."}</Empty>
      {list.rows.length > 0 && <Requests list={list} />}
      <Supply />
      <CapacityOverTime />
    </>
  );
}

function Requests({ list }: { list: List<CapacityRequest> }) {
  const now = useStore(clock);
  return <Rows list={list} columns={columnsOf(lineStart(list.rows, now), now)} label="Requests for capacity" most={12} />;
}

// Pools, prices, stock and cost, with the rights of the reader.
function Supply() {
  const namespace = useStore(scope);
  const { answer, problem } = useAnswer("capacityrequests", `capacity ${namespace}`, () => capacity(namespace));
  if (problem) return <Notice kind="problem">{problem.message}</Notice>;
  if (!answer) return <Skeleton />;
  return (
    <>
      <Pools capacity={answer} />
      <PendingPods capacity={answer} />
      <Panel title="Classes: what they granted, and which pause">
        {answer.stock.length === 0 && <Notice kind="empty">No class has a history yet: grants and stock-outs are remembered where a ProvisioningPolicy asks for capacity.</Notice>}
        {answer.stock.length > 0 && (
          <Table
            heads={["Class", "Flavor", "Zone", "Machines", "For pods, at least", "Granted in a day", "Median wait", "Pauses"]}
            numbers={[4, 5, 6]}
            rows={answer.stock.map((each) => [
              each.class,
              each.flavor,
              each.zone || "any",
              each.shape,
              count(each.leastPods),
              `${count(each.grantedInADay)} of ${count(each.askedInADay)}`,
              each.medianWaitSeconds === null ? "–" : duration(each.medianWaitSeconds * 1000),
              each.restsUntil === null ? (
                "–"
              ) : (
                <span class="warn">
                  until <When at={each.restsUntil} />: {each.reason}
                </span>
              ),
            ])}
          />
        )}
      </Panel>
      {answer.cost.length > 0 && (
        <Panel title="What nodes cost, measured, over the last 7 days">
          <Table
            heads={["LocalQueue", "Nodes now", "USD an hour", "Node hours", "USD"]}
            numbers={[1, 2, 3, 4]}
            rows={answer.cost.map((each) => [
              each.localQueue,
              count(each.nodes),
              each.usdPerHour,
              count(Math.round(each.nodeSeconds / 3600)),
              each.usd + (each.nodesWithoutPrice > 0 ? " and nodes without a price" : ""),
            ])}
          />
        </Panel>
      )}
      {answer.prices.length > 0 && (
        <Panel title="Prices of a node">
          <Table
            heads={["Flavor", "Policy", "Step", "USD an hour"]}
            numbers={[3]}
            rows={answer.prices.map((each) => [each.flavor || "any", each.policy ?? "–", each.step ?? "–", each.usdPerHour])}
          />
        </Panel>
      )}
      {answer.hidden.length > 0 && <p class="quiet">Not seen, for lack of rights: {answer.hidden.join(", ")}</p>}
    </>
  );
}

// Pools are those of the emulated cloud: with actions, whoever may write them sets their stock.
function Pools({ capacity: { nodePools } }: { capacity: Capacity }) {
  const isServed = useStore(hasActions);
  if (nodePools.length === 0) return null;
  return (
    <Panel title="Pools" aside={<Link to={paths.topology()}>the nodes</Link>}>
      <Table
        heads={["Pool", "Machine", "Nodes", "At most", "Left in stock", ...(isServed ? ["Stock, with those in use"] : [])]}
        numbers={[2, 3, 4]}
        rows={nodePools.map((pool) => [
          pool.name,
          pool.machineType,
          count(pool.nodes),
          pool.maxNodes === null ? "∞" : count(pool.maxNodes),
          pool.stock === null ? "∞" : pool.stock === 0 && (pool.maxNodes === null || pool.nodes < pool.maxNodes) ? <b class="warn">0: out of stock</b> : count(pool.stock),
          ...(isServed ? [<Stocks key={pool.name} pool={pool} />] : []),
        ])}
      />
    </Panel>
  );
}

// Jobs whose pods wait for the nodes of an autoscaler that takes no requests, and what Karpenter's
// NodePools have used of their limits.
function PendingPods({ capacity: { pendingPods = [], karpenterNodePools = [] } }: { capacity: Capacity }) {
  const amounts = (of: Record<string, string>) =>
    Object.entries(of)
      .map(([resource, amount]) => `${amount} ${resource}`)
      .join(", ") || "–";
  return (
    <>
      {pendingPods.length > 0 && (
        <Panel title="Jobs that wait for nodes, without a request">
          <Table
            heads={["Workload", "Check", "Flavors", "State", "Age", "Message"]}
            numbers={[4]}
            rows={pendingPods.map((row) => [
              <Link key={row.workload} to={paths.workload(`${row.namespace}/${row.workload}`)}>
                {row.namespace}/{row.workload}
              </Link>,
              row.check,
              row.flavors.join(", "),
              row.state === "PodsWait" ? "its pods wait" : "not started",
              duration(row.ageSeconds * 1000),
              <Words key="message" text={row.message} />,
            ])}
          />
        </Panel>
      )}
      {karpenterNodePools.length > 0 && (
        <Panel title="NodePools of Karpenter">
          <Table
            heads={["NodePool", "Used", "Limits", "Ready"]}
            numbers={[]}
            rows={karpenterNodePools.map((pool) => [
              pool.name,
              amounts(pool.used),
              amounts(pool.limits),
              pool.ready === null ? "–" : pool.ready ? "yes" : <b class="warn">no</b>,
            ])}
          />
        </Panel>
      )}
    </>
  );
}

// The stock of the pool, and of each zone that has a stock of its own.
function Stocks({ pool }: { pool: CapacityPool }) {
  return (
    <>
      <StockAction nodePool={pool.name} now={pool.totalStock} />
      {pool.stockByZone.map(({ zone, totalStock }) => (
        <StockAction key={zone} nodePool={pool.name} zone={zone} now={totalStock} />
      ))}
    </>
  );
}
