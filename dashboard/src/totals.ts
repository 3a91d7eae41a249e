// The resource that the queues of a cluster are for, and how much of it is in use.
import { isGpuResource } from "./accounts";
import type { Machines, Use } from "./berth_read_api";
import { isInfinite } from "./format";

export interface Total {
  resource: string; // "GPUs", "CPUs", or the name of the only GPU resource where this is not nvidia.com/gpu
  unit: string;
  used: number;
  quota: number | null; // null: without a limit
}

// Whether amounts of the resource belong to Total.resource: "CPUs" are processors, "GPUs" are all that pods ask for as GPUs
// or shares of them, another name is this resource alone. Whole GPUs (berth.dev/gpus) never belong: queues charge them
// beside the resources that pods ask for, and nodes do not list them.
export function isMain(main: string, resource: string): boolean {
  if (main === "CPUs") return resource === "cpu";
  return main === "GPUs" ? isGpuResource(resource) : resource === main;
}

// What ready nodes have of the resource; null: it is not known.
export function onNodes(main: Total | null, machines: Machines[] | undefined): number | null {
  if (main === null || machines === undefined) return null;
  return machines.filter((each) => isMain(main.resource, each.resource)).reduce((sum, each) => sum + each.ready, 0);
}

// The use of all queues of the resource that they are for: GPUs if one has a quota of them, else processors.
export function totalOf(queues: { resources: Use[] }[]): Total | null {
  const uses = queues.flatMap((queue) => queue.resources);
  const gpus = [...new Set(uses.map((use) => use.resource).filter(isGpuResource))];
  const [only] = gpus;
  const resource = only === undefined ? "CPUs" : gpus.length === 1 && only !== "nvidia.com/gpu" ? only : "GPUs";
  const main = uses.filter((use) => isMain(resource, use.resource));
  const first = main[0];
  if (!first) return null;
  const endless = main.some((use) => isInfinite(use.nominal, use.unit));
  return {
    resource,
    unit: first.unit,
    used: main.reduce((sum, use) => sum + use.used, 0),
    quota: endless ? null : main.reduce((sum, use) => sum + use.nominal, 0),
  };
}
