// The share of one queue in what the queues of its cohort used, part by part of a period.
import type { HistoryPart } from "./api";

export interface Shares {
  resource: string;
  parts: (number | null)[]; // of 1; null: the cohort used nothing
}

const usedOf = (part: HistoryPart | undefined, resource: string) => part?.used.find((use) => use.resource === resource)?.amount ?? 0;

// `own` and `others`: histories of the same period.
export function sharesOf(own: HistoryPart[], others: HistoryPart[][]): Shares[] {
  const resources = [...new Set([own, ...others].flat().flatMap((part) => part.used.map((use) => use.resource)))].sort();
  return resources.map((resource) => ({
    resource,
    parts: own.map((part, index) => {
      const mine = usedOf(part, resource);
      const all = others.reduce((sum, parts) => sum + usedOf(parts[index], resource), mine);
      return all === 0 ? null : mine / all;
    }),
  }));
}

// What the queue would have if the cohort's use followed the weights: of 1.
export function fairShare(weight: number, others: number[]): number | null {
  const all = others.reduce((sum, each) => sum + each, weight);
  return all === 0 ? null : weight / all;
}
