// Nodes as blocks of their levels, and in words what stands in the way of a gang.
import type { Gang, TopologyNode } from "./berth_read_api";
import { count } from "./format";

const QUIET = new Set(["memory", "pods", "ephemeral-storage"]);

// The resource that a node is bought for: its accelerator, else its processors.
export function mainResource(node: TopologyNode): TopologyNode["resources"][number] | undefined {
  const known = node.resources.filter((each) => !QUIET.has(each.resource) && !each.resource.startsWith("hugepages-") && each.allocatable > 0);
  return known.find((each) => each.resource !== "cpu") ?? known[0];
}

export interface Block {
  name: string;
  nodes: TopologyNode[]; // of the block itself
  blocks: Block[];
}

// The nodes by the values of their levels; the last level is the node itself.
export function blocksOf(nodes: TopologyNode[], depth: number, levels: number): Block[] {
  const by = new Map<string, TopologyNode[]>();
  for (const node of nodes) {
    const value = node.topology === null ? node.pool || "no pool" : (node.domain[depth] ?? "");
    by.set(value, [...(by.get(value) ?? []), node]);
  }
  return [...by].map(([name, inside]) => {
    const isLast = depth + 2 >= levels;
    return { name, nodes: isLast ? inside : [], blocks: isLast ? [] : blocksOf(inside, depth + 1, levels) };
  });
}

// What stands in the way of a gang: the best domain, and how many pods it has room for.
export function wayOf(gang: Gang): string {
  const best = gang.domains[0];
  const level = gang.level.split("/").pop() ?? "";
  if (!best) return gang.level ? `No node has the level ${level}.` : "There is no node.";
  const where = best.domain.length > 0 ? best.domain.join(" › ") : "the whole cluster";
  if (gang.fits) return `Room in ${where}: quota, checks or the order of the queue keep it waiting.`;
  return `The most room is in ${where}: ${count(best.pods)} of ${count(gang.pods)} pods.${gang.mode === "required" ? ` All must be in one ${level}.` : ""}`;
}
