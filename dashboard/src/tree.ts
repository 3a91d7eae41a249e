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
// Workloads that wait in the queues below the cohort.
export function waitingIn(cohort: Cohort): number {
  return [...cohort.cohorts.values()].reduce((sum, below) => sum + waitingIn(below), cohort.queues.reduce((sum, queue) => sum + queue.waiting, 0));
}

export interface BranchParts {
  cohorts: Cohort[];
  queues: Queue[];
}

export function wholeBranch(cohort: Cohort): BranchParts {
  return { cohorts: [...cohort.cohorts.values()], queues: cohort.queues };
}

// Of a branch with more than `most` cohorts and queues, those in which most workloads wait, in the order of the branch.
export function busiestOf(cohort: Cohort, most: number): BranchParts {
  const { cohorts, queues } = wholeBranch(cohort);
  if (cohorts.length + queues.length <= most) return { cohorts, queues };
  const waiting = new Map<Cohort | Queue, number>([...cohorts.map((each) => [each, waitingIn(each)] as const), ...queues.map((each) => [each, each.waiting] as const)]);
  const kept = new Set([...waiting].sort((a, b) => b[1] - a[1]).slice(0, most).map(([each]) => each));
  return { cohorts: cohorts.filter((each) => kept.has(each)), queues: queues.filter((each) => kept.has(each)) };
}
