import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cohort, Queue } from "../src/api";
import { borrowingOf, rootOf, treeOf } from "../src/tree";

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

test("one sentence tells who borrows from whom", () => {
  assert.deepEqual(borrowingOf([queue("a", 4, 8), queue("b", 8, 8)]), []);
  assert.deepEqual(borrowingOf([queue("a", 12, 8), queue("b", 2, 8)]), [`${GPU}: a (4) borrows from b.`]);
  assert.deepEqual(borrowingOf([queue("a", 12, 8), queue("b", 10, 8), queue("c", 0, 8), queue("d", 1, 8)]), [
    `${GPU}: a (4) and b (2) borrow from what c and d leave unused.`,
  ]);
  assert.deepEqual(borrowingOf([queue("a", 12, 8)]), [`${GPU}: a (4) borrows from quota of the cohort.`]);
  const many = ["b", "c", "d", "e", "f", "g"].map((name) => queue(name, 0, 8));
  assert.deepEqual(borrowingOf([queue("a", 9, 8), ...many]), [`${GPU}: a (1) borrows from what b, c, d, e and 2 more leave unused.`]);
});
