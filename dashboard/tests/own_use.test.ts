import assert from "node:assert/strict";
import { test } from "node:test";
import { ownUse } from "../src/own_use";

test("what is used beyond the quota is borrowed", () => {
  assert.deepEqual(ownUse([0, 4.5, 16, 23, null], [16, 16, 16, 16, 16]), { own: [0, 4.5, 16, 16, null], borrowed: [0, 0, 0, 7, null] });
  assert.deepEqual(ownUse([3], [0]), { own: [0], borrowed: [3] });
});

test("the quota of the time counts, and without one nothing is borrowed", () => {
  assert.deepEqual(ownUse([10, 10, 10], [8, 12, null]), { own: [8, 10, 10], borrowed: [2, 0, 0] });
});
