// The resource that the queues of a cluster are for, and how much of it is in use.
import { isGpuResource } from "./accounts";
import type { Machines, Use } from "./berth_read_api";
import { isInfinite } from "./format";

export interface Total {
  resource: string;
  unit: string;
  used: number;
  quota: number | null; // null: without a limit
}

// What ready nodes have of the resource; null: it is not known.
export function onNodes(main: Total | null, machines: Machines[] | undefined): number | null {
  if (main === null || machines === undefined) return null;
  const isMain = (resource: string) => (main.resource === "CPUs" ? resource === "cpu" : main.resource === "GPUs" ? isGpuResource(resource) : resource === main.resource);
  return machines.filter((each) => isMain(each.resource)).reduce((sum, each) => sum + each.ready, 0);
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
