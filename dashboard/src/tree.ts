// The tree of cohorts, made of the rows of queues and cohorts.
import type { Cohort as CohortRow, Queue } from "./api";

export interface Cohort {
  name: string;
  row: CohortRow | null; // null: none was given
  cohorts: Map<string, Cohort>;
  queues: Queue[];
}

// Queues below their cohorts; those without a cohort below the root. `rows`: of cohorts.
export function treeOf(queues: Queue[], rows: CohortRow[] = []): Cohort {
  const root: Cohort = { name: "", row: null, cohorts: new Map(), queues: [] };
  const known = new Map(rows.map((row) => [row.name, row]));
  const find = (way: string[]) => {
    let at = root;
    for (const name of way) {
      let below = at.cohorts.get(name);
      if (!below) at.cohorts.set(name, (below = { name, row: known.get(name) ?? null, cohorts: new Map(), queues: [] }));
      at = below;
    }
    return at;
  };
  for (const row of rows) find([row.name, ...row.parents].reverse());
  for (const queue of queues) find(queue.cohort ? [queue.cohort, ...queue.parents].reverse() : []).queues.push(queue);
  return root;
}

// The cohort above all others of the queue; empty: none.
export function rootOf(queue: Pick<Queue, "cohort" | "parents">): string {
  return queue.parents.at(-1) ?? queue.cohort;
}
