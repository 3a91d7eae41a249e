import assert from "node:assert/strict";
import { test } from "node:test";
import type { CohortHistory } from "../src/berth_read_api";
import { fairShare, sharesOf } from "../src/shares";

const part = (...used: [string, number][]) => ({ used: used.map(([resource, amount]) => ({ resource, unit: "items", amount })) });
const time = { from: "2026-11-20T00:00:00Z", to: "2026-11-20T01:00:00Z" };

test("a share is the queue's part of what the tree of cohorts used", () => {
  const history: CohortHistory = {
    cohort: "company",
    times: [time, time, time],
    queues: [
      { clusterQueue: "a", parts: [part(["gpu", 1], ["tpu", 4]), part(), part()] },
      { clusterQueue: "own", parts: [part(["gpu", 3]), part(), part(["gpu", 2])] },
      { clusterQueue: "z", parts: [part(), part(), part(["gpu", 6])] },
    ],
  };
  assert.deepEqual(sharesOf(history, "own"), [
    { resource: "gpu", parts: [0.75, null, 0.25] },
    { resource: "tpu", parts: [0, null, null] },
  ]);
  assert.deepEqual(sharesOf(history, "idle"), [
    { resource: "gpu", parts: [0, null, 0] },
    { resource: "tpu", parts: [0, null, null] },
  ]);
  assert.deepEqual(sharesOf({ ...history, queues: [] }, "own"), []);
});

test("the fair share follows the weights", () => {
  assert.equal(fairShare(1, [1, 2]), 0.25);
  assert.equal(fairShare(0, [0]), null);
});
