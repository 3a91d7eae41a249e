import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, costText, isGpuResource, mostUsed } from "../src/accounts";
import type { ReportLine } from "../src/api";

const line = (usedHours: Record<string, number>, more: Partial<ReportLine> = {}): ReportLine => ({
  key: "team",
  workloads: 1,
  attempts: 1,
  waits: 1,
  waitedHours: 0,
  usedHours,
  destroyedHours: {},
  chargedHours: {},
  costUsd: 0,
  measuredUsd: 0,
  unpriced: 0,
  ...more,
});

test("names of GPUs and of their shares", () => {
  const names = ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "berth.dev/gpus", "cpu", "gpu", "example.com/gpus"];
  assert.deepEqual(names.filter(isGpuResource), ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"]);
});

test("GPUs count in place of their shares, where all lines have them", () => {
  const shared = line({ cpu: 1, "nvidia.com/gpu": 3, "berth.dev/gpus": 1 });
  assert.deepEqual(columnsOf([shared, line({ cpu: 2 })]).resources, ["berth.dev/gpus", "cpu"]);
  assert.deepEqual(columnsOf([shared, line({ "nvidia.com/gpu": 2 })]).resources, ["berth.dev/gpus", "cpu", "nvidia.com/gpu"]);
});

test("charges and costs have columns where some line has them", () => {
  assert.deepEqual(columnsOf([line({}), line({}, { unpriced: 1 })]), { resources: [], isCharged: false, isPriced: false });
  assert.deepEqual(columnsOf([line({}), line({}, { chargedHours: { nodes: 1 }, costUsd: 2 })]), { resources: [], isCharged: true, isPriced: true });
});

test("what has no price is told beside the cost", () => {
  assert.equal(costText(line({}, { costUsd: 1234.5 })), "1,234.50");
  assert.equal(costText(line({}, { costUsd: 0.019, unpriced: 2 })), "0.02 + 2 without a price");
});

test("of many lines those with most use come first, few stay as they are", () => {
  const lines = [line({ cpu: 1 }), line({ cpu: 3 }), line({}), line({ cpu: 2 })];
  assert.deepEqual(mostUsed(lines, "cpu", 2).map((each) => each.usedHours["cpu"]), [3, 2]);
  assert.equal(mostUsed(lines, "cpu", 4), lines);
  assert.equal(mostUsed(lines, undefined, 3).length, 3);
});
