// Requests for capacity: how many are in which state, and each with its age and the cloud's answer.
import type { CapacityRequest } from "./api";
import { count } from "./format";
import { useCounts, useList } from "./live";
import { Age, Empty } from "./parts";
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
      {list.rows.length > 0 && <Rows list={list} columns={columns} label="Requests for capacity" />}
    </>
  );
}
