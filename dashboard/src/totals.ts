// The resource that the queues of a cluster are for, and how much of it is in use.
import { isGpuResource } from "./accounts";
import type { Use } from "./berth_read_api";
import { isInfinite } from "./format";

export interface Total {
  resource: string;
  unit: string;
  used: number;
  quota: number | null; // null: without a limit
}

// The use of all queues of the resource that they are for: GPUs if one has a quota of them, else processors.
export function totalOf(queues: { resources: Use[] }[]): Total | null {
  const uses = queues.flatMap((queue) => queue.resources);
  const isMain = uses.some((use) => isGpuResource(use.resource)) ? (use: Use) => isGpuResource(use.resource) : (use: Use) => use.resource === "cpu";
  const main = uses.filter(isMain);
  const first = main[0];
  if (!first) return null;
  const names = new Set(main.map((use) => use.resource));
  const endless = main.some((use) => isInfinite(use.nominal, use.unit));
  return {
    resource: first.resource === "cpu" ? "CPUs" : names.size === 1 && first.resource !== "nvidia.com/gpu" ? first.resource : "GPUs",
    unit: first.unit,
    used: main.reduce((sum, use) => sum + use.used, 0),
    quota: endless ? null : main.reduce((sum, use) => sum + use.nominal, 0),
  };
}
