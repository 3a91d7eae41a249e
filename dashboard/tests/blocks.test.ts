import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gang, TopologyNode } from "../src/berth_read_api";
import { blocksOf, mainResource, occupantsOf, roomIn, wayOf } from "../src/blocks";

function node(name: string, domain: string[], more: Partial<TopologyNode> = {}): TopologyNode {
  const resources = [
    { resource: "cpu", unit: "milliCPU", allocatable: 64_000, used: 0 },
    { resource: "memory", unit: "bytes", allocatable: 2 ** 30, used: 0 },
    { resource: "nvidia.com/gpu", unit: "items", allocatable: 8, used: 2 },
  ];
  return { name, ready: true, schedulable: true, pool: "", topology: "t", domain, resources, workloads: [], others: 0, ...more };
}

test("nodes are grouped by all levels but the last", () => {
  const nodes = [node("a", ["b1", "r1", "a"]), node("b", ["b1", "r2", "b"]), node("c", ["b1", "r2", "c"]), node("d", ["b2", "r3", "d"])];
  const blocks = blocksOf(nodes, 0, 3);
  assert.deepEqual(blocks.map((each) => [each.name, each.nodes.length, each.blocks.map((one) => [one.name, one.nodes.length])]), [
    ["b1", 0, [["r1", 1], ["r2", 2]]],
    ["b2", 0, [["r3", 1]]],
  ]);
});

test("nodes of no topology are grouped by their pools", () => {
  const blocks = blocksOf([node("a", [], { topology: null, pool: "p" }), node("b", [], { topology: null })], 0, 0);
  assert.deepEqual(blocks.map((each) => each.name), ["p", "no pool"]);
});

test("the main resource is the accelerator, else the processors", () => {
  assert.equal(mainResource(node("a", []))?.resource, "nvidia.com/gpu");
  const plain = node("a", []);
  assert.equal(mainResource({ ...plain, resources: plain.resources.slice(0, 2) })?.resource, "cpu");
  assert.equal(mainResource({ ...plain, resources: [] }), undefined);
});

test("what stands in the way of a gang", () => {
  const gang: Gang = { id: "a/g", name: "a/g", podSet: "main", pods: 4, level: "x.com/rack", mode: "required", fits: false, domains: [], cause: "quota", remark: "quota: 8 more" };
  assert.equal(wayOf(gang), "No node has the level rack.");
  const best = { topology: "t", domain: ["b1", "r1"], pods: 3 };
  assert.equal(wayOf({ ...gang, domains: [best] }), "The most room is in b1 › r1: 3 of 4 pods. All must be in one rack.");
  assert.equal(wayOf({ ...gang, fits: true, domains: [{ ...best, pods: 4 }] }), "Room in b1 › r1. It waits: quota: 8 more");
  // A gang that its flavor refuses is not helped by room.
  const refused = { ...gang, cause: "misconfigured", remark: "flavor any does not support TopologyAwareScheduling" };
  assert.match(wayOf({ ...refused, domains: [best] }), /^The most room is in .* It waits: flavor any does not support TopologyAwareScheduling$/);
  assert.match(wayOf({ ...gang, level: "", mode: "anywhere", domains: [{ ...best, domain: [] }] }), /the whole cluster: 3 of 4 pods\.$/);
});

test("the rooms of a gang are domains of its topology", () => {
  const gang = { domains: [{ topology: "t", domain: ["b1", "r1"], pods: 3 }, { topology: null, domain: [], pods: 9 }] } as unknown as Gang;
  assert.equal(roomIn(gang, "t", ["b1", "r1"]), 3);
  assert.equal(roomIn(gang, "other", ["b1", "r1"]), null);
  assert.equal(roomIn(gang, "t", ["b1"]), null);
  assert.equal(roomIn(gang, null, []), null);
  assert.equal(roomIn(undefined, "t", ["b1", "r1"]), null);
});

test("who is in the best domain of a gang", () => {
  const gang = { domains: [{ topology: "t", domain: ["b1", "r1"], pods: 3 }] } as unknown as Gang;
  const who = (name: string, pods: number) => ({ id: name, name, pods });
  const nodes = [
    node("n1", ["b1", "r1", "n1"], { workloads: [who("a/small", 1), who("a/large", 2)], others: 1 }),
    node("n2", ["b1", "r1", "n2"], { workloads: [who("a/large", 3)] }),
    node("n3", ["b1", "r2", "n3"], { workloads: [who("a/elsewhere", 3)], others: 5 }),
  ];
  assert.deepEqual(occupantsOf(gang, nodes), { occupants: [who("a/large", 5), who("a/small", 1)], others: 1 });
  assert.deepEqual(occupantsOf({ domains: [] } as unknown as Gang, nodes), { occupants: [], others: 0 });
});
