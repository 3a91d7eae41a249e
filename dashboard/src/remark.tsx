// The last cell of a workload's row: what it waits for and behind whom, or where it runs.
import { useEffect } from "preact/hooks";
import { list, type Workload } from "./api";
import { isUntried, placesOf, queuesToOrder, type Place } from "./behind";
import { count, ordinal } from "./format";
import { inSight, remarks, scope, useAnswer } from "./live";
import { Words } from "./parts";
import { Link, paths } from "./router";
import { useStore } from "./store";
import { causeLabel, remarkOf } from "./words";

const MOST_QUEUES = 20; // that are asked for their order
const MOST_ORDERED = 1_000; // rows of them
const ORDER_PAUSE_MS = 10_000;
const ORDER_FIELDS = "namespace,name,localQueue,clusterQueue,requests,remark";
const NONE = new Map<string, Place>();

// A place that was asked for before the row has changed is left out.
export function Remark({ row, place }: { row: Workload; place: Place | undefined }) {
  const remark = useLocation(row) ?? row.remark;
  return (
    <span title={remark}>
      {row.cause && `${causeLabel(row.cause)}: `}
      {place && isUntried(row) ? <Behind row={row} place={place} /> : <Words text={remarkOf({ ...row, remark })} />}
    </span>
  );
}

// Where the workload runs, by its pods; undefined: not known yet, or the workload does not run.
function useLocation({ id, state }: Workload): string | undefined {
  const known = useStore(remarks);
  const runs = state === "running";
  useEffect(() => (runs ? inSight.show(id) : undefined), [id, runs]);
  return runs ? known.get(id) : undefined;
}

function Behind({ row, place: { before, position, waiting } }: { row: Workload; place: Place }) {
  return (
    <>
      behind <Link to={paths.workload(before.id)}>{before.namespace === row.namespace ? before.name : `${before.namespace}/${before.name}`}</Link> (same request), {ordinal(position)}{" "}
      {waiting === null ? `in LocalQueue ${row.localQueue}` : `of ${count(waiting)}`}
    </>
  );
}

// The places of rows in any order: their queues are asked for theirs.
export function usePlaces(rows: Workload[]): Map<string, Place> {
  const namespace = useStore(scope);
  const clusterQueue = queuesToOrder(rows, MOST_QUEUES).join(",");
  const asked = { namespace, clusterQueue, state: "waiting", sort: "turn", fields: ORDER_FIELDS, limit: MOST_ORDERED };
  const { answer } = useAnswer(
    clusterQueue ? "workloads" : null,
    `order ${clusterQueue} ${namespace}`,
    async () => {
      if (!clusterQueue) return NONE;
      const page = await list("workloads", asked);
      return placesOf(page.items, page.next === undefined);
    },
    { pause: ORDER_PAUSE_MS, of: "order" },
  );
  return answer ?? NONE;
}
