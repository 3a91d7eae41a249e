// The place of a waiting workload behind one that asks for the same: which one, and the number in the LocalQueue.
// `berth list` and `berth why` say the same.
import type { Amount } from "./berth_read_api";

export interface Ordered {
  id: string;
  namespace: string;
  name: string;
  localQueue: string;
  clusterQueue: string;
  requests: Amount[];
  remark: string;
}
export interface Place {
  before: { id: string; namespace: string; name: string }; // the nearest that was tried and asks for the same
  position: number; // in the LocalQueue, from 1
  waiting: number | null; // in the LocalQueue; null: not all of them are known
}

const BYPASSED = /waits behind a workload with equal requests$/;
const NOT_TRIED = /^queued: not looked at yet$/;

// Whether the server has tried another workload in place of this one, or none yet.
export const isUntried = ({ remark }: { remark: string }) => BYPASSED.test(remark) || NOT_TRIED.test(remark);

// By id, the places of the untried rows that stand behind an equal one. `rows`: waiting without quota, in the order of
// their turns; `isWhole`: no row comes after them.
export function placesOf(rows: Ordered[], isWhole: boolean): Map<string, Place> {
  const places = new Map<string, Place>();
  const numbers = new Map<string, number>(); // of rows, by LocalQueue
  const tried = new Map<string, Ordered>(); // the last one, by ClusterQueue and requests
  const queueOf = (row: Ordered) => `${row.namespace}/${row.localQueue}`;
  for (const row of rows) {
    const position = (numbers.get(queueOf(row)) ?? 0) + 1;
    numbers.set(queueOf(row), position);
    const request = JSON.stringify([row.clusterQueue, ...row.requests.map((each) => [each.resource, each.amount])]);
    const before = tried.get(request);
    if (!isUntried(row)) tried.set(request, row);
    else if (before) places.set(row.id, { before, position, waiting: null });
  }
  if (!isWhole) return places;
  for (const row of rows) {
    const place = places.get(row.id);
    if (place) place.waiting = numbers.get(queueOf(row)) ?? null;
  }
  return places;
}

// The ClusterQueues of untried rows, at most `most` of them.
export function queuesToOrder(rows: { clusterQueue: string; state: string; remark: string }[], most: number): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    if (names.size === most) break;
    if (row.state === "waiting" && row.clusterQueue && isUntried(row)) names.add(row.clusterQueue);
  }
  return [...names].sort();
}
