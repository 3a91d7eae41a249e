// What the ledger knows of the numbers of workloads, for the times in which the page saw nothing.
import type { WorkloadStates } from "./berth_read_api";

export interface Numbers {
  at: number; // seconds
  waiting: number;
  reserved: number;
  running: number;
  causes: Record<string, number>;
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
