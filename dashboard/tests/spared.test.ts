import assert from "node:assert/strict";
import { test } from "node:test";
import { sparedGroups } from "../src/spared";

test("workloads with the same reason are one group", () => {
  const spared = [
    { workload: "a/1", because: "higher priority" },
    { workload: "a/2", because: "it does not borrow" },
    { workload: "b/1", because: "higher priority" },
  ];
  assert.deepEqual(sparedGroups(spared), [
    { because: "higher priority", workloads: ["a/1", "b/1"] },
    { because: "it does not borrow", workloads: ["a/2"] },
  ]);
});
