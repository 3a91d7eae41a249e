// Requests for capacity: how many are in which state, and each with its age and the cloud's answer.
import { capacity, type Capacity, type CapacityRequest } from "./api";
import { count, duration } from "./format";
import { scope, useAnswer, useCounts, useList } from "./live";
import { Age, Empty, Notice, Panel, Table, When } from "./parts";
import { address, go, Link, paths } from "./router";
import { Rows, type Column } from "./rows";
import { useStore } from "./store";
import { Choice } from "./workloads";

const columns: Column<CapacityRequest>[] = [
  {
    title: "Request",
    kind: "main",
    cell: (row) => (row.workload ? <Link to={paths.workload(`${row.namespace}/${row.workload}`)}>{row.id}</Link> : row.id),
  },
  { title: "State", cell: (row) => row.state },
  { title: "Class", cell: (row) => <span title={row.class}>{row.class}</span> },
  { title: "Age", kind: "number", cell: (row) => <Age since={row.createdAt} /> },
  { title: "The answer", kind: "wide", cell: (row) => <span title={row.message}>{row.message}</span> },
];

export function CapacityView() {
  const { query } = useStore(address);
  const chosen = { state: query.get("state") ?? "", class: query.get("class") ?? "" };
  const list = useList("capacityrequests", { ...chosen, sort: "-createdAt" });
  const states = useCounts("capacityrequests", "state");
  const classes = useCounts("capacityrequests", "class");
  const set = (name: string, value: string) => go(paths.capacity({ ...chosen, [name]: value }), "replace");
  const choices = (values: { value: string; count: number }[] | null, now: string): [string, string][] => {
    const known = (values ?? []).map((each): [string, string] => [each.value, `${each.value} (${count(each.count)})`]);
    return [["", "any"], ...known, ...(now === "" || known.some(([value]) => value === now) ? [] : [[now, now] as [string, string]])];
  };
  return (
    <>
      <h1>Capacity</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice label="State" value={chosen.state} options={choices(states.values, chosen.state)} onChange={(value) => set("state", value)} />
        <Choice label="Class" value={chosen.class} options={choices(classes.values, chosen.class)} onChange={(value) => set("class", value)} />
        <output>{list.loading ? "…" : `${count(list.rows.length)}${list.hasMore ? " and more" : ""}`}</output>
      </form>
      <Empty list={list}>No request for capacity is of this kind.</Empty>
      {list.rows.length > 0 && <Rows list={list} columns={columns} label="Requests for capacity" most={12} />}
      <Supply />
    </>
  );
}

// Pools, prices, stock and cost, with the rights of the reader.
function Supply() {
  const namespace = useStore(scope);
  const { answer, problem } = useAnswer("capacityrequests", `capacity ${namespace}`, () => capacity(namespace));
  if (problem) return <Notice kind="problem">{problem.message}</Notice>;
  if (!answer) return <Notice kind="loading">Loading…</Notice>;
  return (
    <>
      <Pools capacity={answer} />
      <Panel title="What classes gave, and which rest">
        {answer.stock.length === 0 && <Notice kind="empty">Nothing is remembered of the stock: it needs a ProvisioningPolicy.</Notice>}
        {answer.stock.length > 0 && (
          <Table
            heads={["Class", "Flavor", "Zone", "Shape", "Pods from", "Granted in a day", "Median wait", "Rests"]}
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
        <Panel title="What nodes cost, measured, of the last 7 days">
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

function Pools({ capacity: { nodePools } }: { capacity: Capacity }) {
  if (nodePools.length === 0) return null;
  return (
    <Panel title="Pools" aside={<Link to={paths.topology()}>the nodes</Link>}>
      <Table
        heads={["Pool", "Machine", "Nodes", "At most", "Left in stock"]}
        numbers={[2, 3, 4]}
        rows={nodePools.map((pool) => [
          pool.name,
          pool.machineType,
          count(pool.nodes),
          pool.maxNodes === null ? "∞" : count(pool.maxNodes),
          pool.stock === null ? "∞" : pool.stock === 0 ? <b class="warn">0: out of stock</b> : count(pool.stock),
        ])}
      />
    </Panel>
  );
}
