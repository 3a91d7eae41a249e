// The list of workloads: filters and the order are in the address, and the server applies them.
import type { Workload } from "./api";
import type { Place } from "./behind";
import { count, plural } from "./format";
import { useCounts, useList } from "./live";
import { Age, Empty, Eta, State } from "./parts";
import { Remark, usePlaces } from "./remark";
import { address, change, Link, paths } from "./router";
import { Rows, type Column } from "./rows";
import { useStore } from "./store";
import { causeLabel } from "./words";

const STATES = ["waiting", "reserved", "running", "stopping", "deactivated", "succeeded", "failed"];
const BY_NAME = "name"; // the order of the read API without a `sort`
const ORDERS: [string, string][] = [
  ["", "newest first"],
  [BY_NAME, "name"],
  ["waitingSince", "longest wait first"],
  ["createdAt", "oldest first"],
  ["-priority", "highest priority first"],
  ["turn", "turn in the queue"],
];
const FIELDS = "namespace,workload,name,kind,localQueue,clusterQueue,priority,state,cause,createdAt,waitingSince,turn,eta,remark";

const columns: Column<Workload>[] = [
  { title: "Workload", kind: "main", cell: (row) => <Link to={paths.workload(row.id)}>{`${row.namespace}/${row.name}`}</Link> },
  { title: "State", cell: (row) => <State state={row.state} /> },
  { title: "Queue", narrow: "second", cell: (row) => (row.clusterQueue ? <Link to={paths.queue(row.clusterQueue)}>{row.clusterQueue}</Link> : row.localQueue) },
  { title: "Priority", kind: "number", cell: (row) => row.priority },
  { title: "Age", kind: "number", narrow: "second", cell: (row) => <Age since={row.waitingSince ?? row.createdAt} /> },
  { title: "ETA", kind: "number", narrow: "second", cell: (row) => <Eta eta={row.eta} /> },
];
const remarkColumn = (places: Map<string, Place>): Column<Workload> => ({
  title: "What it waits for, or where it runs",
  kind: "wide",
  cell: (row) => <Remark row={row} place={places.get(row.id)} />,
});

export function WorkloadsView() {
  const { query } = useStore(address);
  const chosen = {
    state: query.get("state") ?? "",
    cause: query.get("cause") ?? "",
    clusterQueue: query.get("clusterQueue") ?? "",
    name: query.get("name") ?? "",
    sort: query.get("sort") ?? "",
  };
  const sort = chosen.sort === "" ? "-createdAt" : chosen.sort === BY_NAME ? "" : chosen.sort;
  const list = useList("workloads", { ...chosen, sort, fields: FIELDS });
  const { state: _state, sort: _sort, ...filters } = chosen;
  const counts = useCounts("workloads", "state", filters).values;
  const countOf = (state: string) => (counts ?? []).filter((each) => state === "" || state.split(",").includes(each.value)).reduce((sum, each) => sum + each.count, 0);
  const places = usePlaces(list.rows);
  const causes = useCounts("workloads", "cause");
  const set = (name: string, value: string) => change({ [name]: value });
  const states = STATES.includes(chosen.state) || chosen.state === "" ? STATES : [...STATES, chosen.state];
  const known = causes.values?.map((each) => each.value).filter(Boolean) ?? [];
  const choices = known.includes(chosen.cause) || chosen.cause === "" ? known : [...known, chosen.cause];
  return (
    <>
      <h1>Workloads</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice label="State" value={chosen.state} options={[["", "any"], ...states.map((each): [string, string] => [each, `${each.replaceAll(",", " or ")}${counts ? ` (${count(countOf(each))})` : ""}`])]} onChange={(value) => set("state", value)} />
        <Choice label="Cause of the wait" value={chosen.cause} options={[["", "any"], ...choices.map((each): [string, string] => [each, causeLabel(each)])]} onChange={(value) => set("cause", value)} />
        <label>
          Queue
          <input type="search" value={chosen.clusterQueue} placeholder="any" onChange={(event) => set("clusterQueue", event.currentTarget.value.trim())} />
        </label>
        <label>
          Job
          <input type="search" value={chosen.name} placeholder="its name begins with" onChange={(event) => set("name", event.currentTarget.value.trim())} />
        </label>
        <Choice label="Order" value={chosen.sort} options={ORDERS} onChange={(value) => set("sort", value)} />
        <output>
          {list.loading ? "…" : list.hasMore && !counts ? `${count(list.rows.length)} and more` : plural(list.hasMore ? countOf(chosen.state) : list.rows.length, "workload")}
        </output>
        {list.hasChanged && (
          <button type="button" onClick={list.again}>
            The list has changed: show it
          </button>
        )}
      </form>
      <Empty list={list}>No workload is of this kind.</Empty>
      {list.rows.length > 0 && <Rows list={list} columns={[...columns, remarkColumn(places)]} label="Workloads" />}
    </>
  );
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, word]) => (
          <option key={each} value={each} selected={each === value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
