import assert from "node:assert/strict";
import { test } from "node:test";
import { ownUse } from "../src/own_use";

test("what is used beyond the quota is borrowed", () => {
  assert.deepEqual(ownUse([0, 4.5, 16, 23, null], 16), { own: [0, 4.5, 16, 16, null], borrowed: [0, 0, 0, 7, null] });
  assert.deepEqual(ownUse([3], 0), { own: [0], borrowed: [3] });
});
