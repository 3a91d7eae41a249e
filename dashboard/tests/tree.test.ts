import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cohort, Queue } from "../src/api";
import { busiestOf, rootOf, treeOf, waitingIn } from "../src/tree";

const GPU = "nvidia.com/gpu";

function queue(name: string, used: number, nominal: number, more: Partial<Queue> = {}): Queue {
  const use = { resource: GPU, unit: "items", used, nominal, borrowed: Math.max(0, used - nominal), lent: 0 };
  return { name, cohort: "unit", parents: ["company"], resources: [use], ...more } as Queue;
}

test("queues and cohorts without queues stand below their cohorts", () => {
  const rows = [{ name: "empty", parents: ["company"] }, { name: "company", parents: [] as string[] }] as Cohort[];
  const root = treeOf([queue("a", 0, 8), queue("alone", 0, 8, { cohort: "", parents: [] })], rows);
  assert.deepEqual(root.queues.map((each) => each.name), ["alone"]);
  const company = root.cohorts.get("company");
  assert.equal(company?.row?.name, "company");
  assert.deepEqual([...(company?.cohorts.keys() ?? [])], ["empty", "unit"]);
  assert.equal(company?.cohorts.get("unit")?.row, null);
  assert.deepEqual(company?.cohorts.get("unit")?.queues.map((each) => each.name), ["a"]);
});

test("the root is the last parent, or the cohort itself", () => {
  assert.equal(rootOf({ cohort: "unit", parents: ["division", "company"] }), "company");
  assert.equal(rootOf({ cohort: "unit", parents: [] }), "unit");
});

test("of a wide branch, what most workloads wait in is kept in its order", () => {
  const queues = [queue("a", 0, 8, { waiting: 1 }), queue("b", 0, 8, { waiting: 0 }), queue("alone", 0, 8, { cohort: "", parents: [], waiting: 9 }), queue("idle", 0, 8, { cohort: "", parents: [], waiting: 0 })];
  const root = treeOf(queues, [{ name: "company", parents: [] as string[] }] as Cohort[]);
  assert.equal(waitingIn(root), 10);
  const few = busiestOf(root, 2);
  assert.deepEqual(few.cohorts.map((each) => each.name), ["company"]);
  assert.deepEqual(few.queues.map((each) => each.name), ["alone"]);
  assert.deepEqual(busiestOf(root, 3).queues.map((each) => each.name), ["alone", "idle"]);
});
