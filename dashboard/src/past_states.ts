// What the ledger knows of the numbers of workloads and of the use of quota, for the times in which the page saw nothing.
import type { Amount, WorkloadStates } from "./berth_read_api";
import { isInfinite } from "./format";

export interface Numbers {
  at: number; // seconds
  waiting: number;
  reserved: number;
  running: number;
  causes: Record<string, number>;
}

export interface PastUse {
  at: number; // seconds
  used: number;
  quota: number | null; // null: not known, or without a limit
}

// What all queues used of the resources for which `isMain` holds, one value at the beginning of each part from the first
// workload on.
export function pastUse({ times, parts }: WorkloadStates, isMain: (resource: string) => boolean): PastUse[] {
  const first = parts.findIndex((part) => part.used.length > 0);
  if (first < 0) return [];
  const sumOf = (amounts: Amount[]) => amounts.filter((each) => isMain(each.resource)).reduce((sum, each) => sum + each.amount, 0);
  return parts.slice(first).flatMap((part, i): PastUse[] => {
    const time = times[first + i];
    if (!time) return [];
    const main = part.quota.filter((each) => isMain(each.resource));
    const isKnown = main.length > 0 && !main.some((each) => isInfinite(each.amount, each.unit));
    return [{ at: Date.parse(time.from) / 1000, used: sumOf(part.used), quota: isKnown ? sumOf(main) : null }];
  });
}

// One sample at the beginning of each part in which the page saw nothing, from the first part with a workload on.
export function pastNumbers({ times, parts }: WorkloadStates, seen: { at: number }[]): Numbers[] {
  const numbers = times.flatMap((time, i): (Numbers & { to: number })[] => {
    const part = parts[i];
    if (!part) return [];
    const waiting = Object.values(part.waiting).reduce((sum, each) => sum + each, 0);
    return [{ at: Date.parse(time.from) / 1000, to: Date.parse(time.to) / 1000, waiting, reserved: part.reserved, running: part.running, causes: part.waiting }];
  });
  const first = numbers.findIndex((each) => each.waiting + each.reserved + each.running > 0);
  if (first < 0) return [];
  return numbers.slice(first).flatMap(({ to, ...each }) => (seen.some((sample) => sample.at >= each.at && sample.at < to) ? [] : [each]));
}
