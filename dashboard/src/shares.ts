// The share of one queue in what the queues of its tree of cohorts used, part by part of a period.
import type { CohortHistory } from "./berth_read_api";

export interface Shares {
  resource: string;
  parts: (number | null)[]; // of 1; null: the cohorts used nothing
}

type Part = CohortHistory["queues"][number]["parts"][number];

const usedOf = (part: Part | undefined, resource: string) => part?.used.find((use) => use.resource === resource)?.amount ?? 0;

// Returns the shares of resources that some queue used. A queue that used nothing is not in the history.
export function sharesOf(history: CohortHistory, queue: string): Shares[] {
  const all = history.queues.map((each) => each.parts);
  const own = history.queues.find((each) => each.clusterQueue === queue)?.parts ?? [];
  const resources = [...new Set(all.flat().flatMap((part) => part.used.map((use) => use.resource)))].sort();
  return resources.map((resource) => ({
    resource,
    parts: history.times.map((_, index) => {
      const sum = all.reduce((total, parts) => total + usedOf(parts[index], resource), 0);
      return sum === 0 ? null : usedOf(own[index], resource) / sum;
    }),
  }));
}

// What the queue would have if the cohort's use followed the weights: of 1.
export function fairShare(weight: number, others: number[]): number | null {
  const all = others.reduce((sum, each) => sum + each, weight);
  return all === 0 ? null : weight / all;
}
