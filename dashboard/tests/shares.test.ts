import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryPart } from "../src/api";
import { fairShare, sharesOf } from "../src/shares";

const part = (...used: [string, number][]): HistoryPart => ({
  from: "2026-11-20T00:00:00Z",
  to: "2026-11-20T01:00:00Z",
  admitted: 0,
  preempted: 0,
  p50WaitSeconds: null,
  p90WaitSeconds: null,
  used: used.map(([resource, amount]) => ({ resource, unit: "items", amount })),
});

test("a share is the queue's part of what its cohort used", () => {
  const own = [part(["gpu", 3]), part(), part(["gpu", 2])];
  const others = [[part(["gpu", 1], ["tpu", 4]), part(), part()], [part(), part(), part(["gpu", 6])]];
  assert.deepEqual(sharesOf(own, others), [
    { resource: "gpu", parts: [0.75, null, 0.25] },
    { resource: "tpu", parts: [0, null, null] },
  ]);
  assert.deepEqual(sharesOf([], []), []);
});

test("the fair share follows the weights", () => {
  assert.equal(fairShare(1, [1, 2]), 0.25);
  assert.equal(fairShare(0, [0]), null);
});
