import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cohort as CohortRow, Queue } from "../src/api";
import { pictureOf } from "../src/flow_picture";
import { flowsOf, lenderName, sentencesOf, useWords, wholeParts, type Flows } from "../src/flows";
import { treeOf } from "../src/tree";

const GPU = "nvidia.com/gpu";
const quota = (flavor: string, used: number, nominal: number, more = {}) => ({ flavor, resource: GPU, unit: "items", used, nominal, borrowingLimit: null, lendingLimit: null, ...more });

function queue(name: string, flavors: Queue["flavors"], more: Partial<Queue> = {}): Queue {
  return { name, cohort: "unit", parents: ["company"], flavors, ...more } as Queue;
}
const cohort = (name: string, parents: string[], flavors: Queue["flavors"] = []) => ({ name, parents, flavors }) as unknown as CohortRow;

function flows(queues: Queue[], rows: CohortRow[] = []): Flows[] {
  const root = treeOf(queues, rows).cohorts.get("company");
  assert.ok(root);
  return flowsOf(root);
}

const told = (all: Flows[]) => all.flatMap((each) => each.flows.map(({ from, to, amount }) => `${amount} ${from} → ${to}`));

test("nothing flows while no queue uses more than its quota", () => {
  assert.deepEqual(flows([queue("a", [quota("x", 4, 8)]), queue("b", [quota("x", 8, 8)])]), []);
});

test("one lender lends what the borrowers use beyond their quota", () => {
  const all = flows([queue("a", [quota("x", 12, 8)]), queue("b", [quota("x", 2, 8)])]);
  assert.deepEqual(told(all), ["4 queue b → queue a"]);
  assert.equal(all[0]?.isShared, false);
  assert.deepEqual(sentencesOf(all[0] as Flows), [`a borrows 4 ${GPU}: 4 from b.`]);
  assert.deepEqual(all[0]?.lenders.map((each) => useWords(each, "items")), ["uses 2 of 8"]);
});

test("flavors are lent apart: one that is free is no quota of another", () => {
  const all = flows([queue("nlp", [quota("a100", 13, 8), quota("h100", 10, 8)]), queue("vision", [quota("a100", 8, 8), quota("h100", 6, 8)]), queue("speech", [quota("a100", 2, 8)])]);
  assert.deepEqual(told(all), ["5 queue speech → queue nlp", "2 queue vision → queue nlp"]);
  // All of a queue's flavors are in its words.
  assert.deepEqual(all[0]?.borrowers.map((each) => [each.moved, each.used, each.nominal]), [[7, 23, 16]]);
});

test("a queue borrows in its own cohort first, then in those above, and from their own quota", () => {
  const far = { cohort: "company", parents: [] };
  const queues = [queue("a", [quota("x", 14, 8)]), queue("b", [quota("x", 5, 8)]), queue("far", [quota("x", 0, 2)], far)];
  const rows = [cohort("company", [], [quota("x", 0, 0)]), cohort("unit", ["company"])];
  const all = flows(queues, rows);
  assert.deepEqual(told(all), ["3 queue b → queue a", "2 queue far → queue a", "1 elsewhere → queue a"]);
  assert.deepEqual(told(flows(queues, [cohort("company", [], [quota("x", 0, 1)]), cohort("unit", ["company"])])), ["3 queue b → queue a", "2 queue far → queue a", "1 cohort company → queue a"]);
  assert.equal(lenderName({ key: "", name: "company", kind: "cohort", moved: 1, used: 0, nominal: 0 }), "quota of cohort company");
});

test("several lenders share by what they leave unused, in whole amounts", () => {
  const all = flows([queue("a", [quota("x", 12, 8)]), queue("b", [quota("x", 10, 8)]), queue("c", [quota("x", 0, 8)]), queue("d", [quota("x", 4, 8)])]);
  assert.equal(all[0]?.isShared, true);
  assert.deepEqual(all[0]?.lenders.map((each) => [each.name, each.moved]), [["c", 4], ["d", 2]]);
  assert.deepEqual(all[0]?.borrowers.map((each) => [each.name, each.moved]), [["a", 4], ["b", 2]]);
  assert.deepEqual(wholeParts([1, 1, 1], 2), [1, 1, 0]);
  assert.deepEqual(wholeParts([], 0), []);
});

test("limits of lending hold for queues and for cohorts", () => {
  const unit = [queue("b", [quota("x", 0, 8, { lendingLimit: 1 })]), queue("c", [quota("x", 0, 8)])];
  const taker = queue("a", [quota("x", 14, 8)], { cohort: "company", parents: [] });
  assert.deepEqual(told(flows([taker, ...unit], [cohort("unit", ["company"], [quota("x", 0, 0, { lendingLimit: 3 })])])), ["3 queue c → queue a", "3 elsewhere → queue a"]);
});

test("a side has few parties: the largest, and the others as one", () => {
  const lenders = Array.from({ length: 10 }, (_, i) => queue(`l${i}`, [quota("x", 0, i + 1)]));
  const all = flows([queue("a", [quota("x", 63, 8)]), ...lenders])[0] as Flows;
  assert.deepEqual(all.lenders.map((each) => `${each.name} ${each.moved}`), ["l4 5", "l5 6", "l6 7", "l7 8", "l8 9", "l9 10", "4 others 10"]);
  assert.equal(all.flows.reduce((total, each) => total + each.amount, 0), 55);
});

test("parties and bands stand below each other, within the picture", () => {
  const all = flows([queue("a", [quota("x", 12, 8)]), queue("b", [quota("x", 10, 8)]), queue("c", [quota("x", 0, 8)]), queue("d", [quota("x", 4, 8)])])[0] as Flows;
  const picture = pictureOf(all, 40);
  for (const side of [picture.lenders, picture.borrowers]) {
    assert.ok(side.every((each, i) => each.top >= 0 && each.top + each.height <= (side[i + 1]?.top ?? picture.height + 0.01)));
  }
  const ends = picture.bands.map((band, i) => [picture.lenders.findIndex((at) => band.from >= at.top - 0.01 && band.from + band.height <= at.top + at.height + 0.01), all.flows[i]?.from]);
  assert.deepEqual(ends.map(([at, key]) => [all.lenders[at as number]?.key, key]), all.flows.map((flow) => [flow.from, flow.from]));
  // The height of a band follows its amount.
  const heights = Object.fromEntries(all.flows.map((flow, i) => [`${flow.from} ${flow.to}`, picture.bands[i]?.height ?? 0]));
  assert.ok(Math.max(...Object.values(heights)) / Math.min(...Object.values(heights)) >= 2);
});
