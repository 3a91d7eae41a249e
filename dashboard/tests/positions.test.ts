import assert from "node:assert/strict";
import { test } from "node:test";
import { contains, isBehind } from "../src/positions.ts";

test("an answer has the changes up to its position", () => {
  assert.ok(contains("e.10", "e.9"));
  assert.ok(contains("e.10", "e.10"));
  assert.ok(!contains("e.9", "e.10"));
  assert.ok(!contains("e.10", "f.9"));
});

test("an answer is behind a stream that began later, of the same epoch", () => {
  assert.ok(isBehind("e.9", "e.10"));
  assert.ok(!isBehind("e.10", "e.10"));
  assert.ok(!isBehind("e.9", "f.10"));
  assert.ok(!isBehind("e.9", ""));
  assert.ok(!isBehind("", "e.10"));
});
