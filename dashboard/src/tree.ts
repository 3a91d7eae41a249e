// The tree of cohorts, made of the rows of queues.
import type { Queue } from "./api";

export interface Cohort {
  name: string;
  cohorts: Map<string, Cohort>;
  queues: Queue[];
}

// Queues below their cohorts; those without a cohort below the root.
export function treeOf(queues: Queue[]): Cohort {
  const root: Cohort = { name: "", cohorts: new Map(), queues: [] };
  for (const queue of queues) {
    let at = root;
    const way = queue.cohort ? [queue.cohort, ...queue.parents].reverse() : [];
    for (const name of way) {
      let below = at.cohorts.get(name);
      if (!below) at.cohorts.set(name, (below = { name, cohorts: new Map(), queues: [] }));
      at = below;
    }
    at.queues.push(queue);
  }
  return root;
}
