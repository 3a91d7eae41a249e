// Workloads that were not preempted, by the reason.
import type { Spared } from "./berth_read_api";

export interface SparedGroup {
  because: string;
  workloads: string[];
}

// In the order of the first workload of each reason.
export function sparedGroups(spared: Spared[]): SparedGroup[] {
  const groups = new Map<string, string[]>();
  for (const each of spared) groups.set(each.because, [...(groups.get(each.because) ?? []), each.workload]);
  return [...groups].map(([because, workloads]) => ({ because, workloads }));
}
