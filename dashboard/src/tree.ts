// The tree of cohorts, made of the rows of queues and cohorts, and who borrows from whom.
import type { Cohort as CohortRow, Queue } from "./api";
import { amount } from "./format";

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

const MOST_NAMED = 4;

function named(names: string[]): string {
  const shown = names.slice(0, MOST_NAMED);
  const more = names.length - shown.length;
  if (more > 0) return `${shown.join(", ")} and ${more} more`;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

// A sentence for each resource that a queue of the tree borrows. Whose quota it is, is known where one
// queue alone has quota to spare; else those are named that have.
export function borrowingOf(queues: Queue[]): string[] {
  const resources = [...new Set(queues.flatMap((queue) => queue.resources.map((use) => use.resource)))].sort();
  return resources.flatMap((resource) => {
    const uses = queues.flatMap((queue) => queue.resources.filter((use) => use.resource === resource).map((use) => ({ name: queue.name, use })));
    const borrowers = uses.filter(({ use }) => use.borrowed > 0);
    if (borrowers.length === 0) return [];
    const spare = uses.filter(({ use }) => use.used < use.nominal).map(({ name }) => name);
    const takes = named(borrowers.map(({ name, use }) => `${name} (${amount(use.borrowed, use.unit)})`));
    const from = spare.length === 0 ? "quota of the cohort" : spare.length === 1 ? `${spare[0]}` : `what ${named(spare)} leave unused`;
    return [`${resource}: ${takes} ${borrowers.length === 1 ? "borrows" : "borrow"} from ${from}.`];
  });
}
