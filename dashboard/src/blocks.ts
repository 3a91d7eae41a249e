// Nodes as blocks of their levels, and in words what stands in the way of a gang.
import type { Gang, TopologyNode } from "./berth_read_api";
import { count } from "./format";
import { lineOf } from "./words";

const QUIET = new Set(["memory", "pods", "ephemeral-storage"]);

// The resource that a node is bought for: its accelerator, else its processors.
export function mainResource(node: TopologyNode): TopologyNode["resources"][number] | undefined {
  const known = node.resources.filter((each) => !QUIET.has(each.resource) && !each.resource.startsWith("hugepages-") && each.allocatable > 0);
  return known.find((each) => each.resource !== "cpu") ?? known[0];
}

export interface Block {
  name: string;
  domain: string[]; // the values of the levels down to the block; empty: of no topology
  nodes: TopologyNode[]; // of the block itself
  blocks: Block[];
}

// The nodes by the values of their levels; the last level is the node itself.
export function blocksOf(nodes: TopologyNode[], depth: number, levels: number): Block[] {
  const by = new Map<string, TopologyNode[]>();
  for (const node of nodes) {
    const value = node.topology === null ? node.pool || "no pool" : (node.domain[depth] ?? "");
    const known = by.get(value);
    if (known) known.push(node);
    else by.set(value, [node]);
  }
  return [...by].map(([name, inside]) => {
    const isLast = depth + 2 >= levels;
    const first = inside[0];
    const domain = first === undefined || first.topology === null ? [] : first.domain.slice(0, depth + 1);
    return { name, domain, nodes: isLast ? inside : [], blocks: isLast ? [] : blocksOf(inside, depth + 1, levels) };
  });
}

export const keyOf = (gang: Gang) => `${gang.id}/${gang.podSet}`;

// The pods of the gang that a domain of the topology has room for; null: the domain is none of those
// that the gang was told.
export function roomIn(gang: Gang | undefined, topology: string | null, domain: string[]): number | null {
  const room = gang?.domains.find((each) => each.topology === topology && each.domain.length > 0 && each.domain.join("/") === domain.join("/"));
  return room?.pods ?? null;
}

// Who is in the best domain of a gang, the most pods first; `others`: jobs that the reader may not name.
export function occupantsOf(gang: Gang, nodes: TopologyNode[]): { occupants: { id: string | null; name: string; pods: number }[]; others: number } {
  const best = gang.domains[0];
  const by = new Map<string, { id: string | null; name: string; pods: number }>();
  let others = 0;
  for (const node of nodes) {
    if (!best || best.domain.length === 0 || node.topology !== best.topology || best.domain.some((value, i) => node.domain[i] !== value)) continue;
    others += node.others;
    for (const each of node.workloads) {
      const known = by.get(each.name);
      if (known) known.pods += each.pods;
      else by.set(each.name, { ...each });
    }
  }
  return { occupants: [...by.values()].sort((a, b) => b.pods - a.pods || a.name.localeCompare(b.name)), others };
}

// Causes that room in the nodes would end.
const ROOM_HELPS = new Set(["quota", "queued"]);

// What stands in the way of a gang: the best domain, how many pods it has room for, and the reason of
// the wait where room alone does not end it.
export function wayOf(gang: Gang): string {
  const best = gang.domains[0];
  const level = gang.level.split("/").pop() ?? "";
  const waits = gang.remark && (gang.fits || !ROOM_HELPS.has(gang.cause)) ? ` It waits: ${lineOf(gang.remark)}` : "";
  if (!best) return (gang.level ? `No node has the level ${level}.` : "There is no node.") + waits;
  const where = best.domain.length > 0 ? best.domain.join(" › ") : "the whole cluster";
  if (gang.fits) return `Room in ${where}.${waits}`;
  return `The most room is in ${where}: ${count(best.pods)} of ${count(gang.pods)} pods.${gang.mode === "required" ? ` All must be in one ${level}.` : ""}${waits}`;
}
