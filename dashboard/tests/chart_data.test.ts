import assert from "node:assert/strict";
import { test } from "node:test";
import { lastIn, secondsOf, stacked, thinned } from "../src/chart_data";

test("stacked lines stand on those after them, and end where none has a value", () => {
  assert.deepEqual(stacked([[1, null, null], [2, 3, null], [4, null, null]]), [[7, 3, null], [6, 3, null], [4, null, null]]);
  assert.deepEqual(stacked([]), []);
  // A limit stands by itself.
  assert.deepEqual(stacked([[1, 2], [3, 4], [9, 9]], [true, true, false]), [[4, 6], [3, 4], [9, 9]]);
  assert.deepEqual(stacked([[1], [9], [3]], [true, false, true]), [[4], [9], [3]]);
});

test("instants in their order, without those that are none", () => {
  assert.deepEqual(secondsOf(["1970-01-01T00:00:10Z", "<b>", "1970-01-01T00:00:05Z", "1970-01-01T00:00:20Z"]), { seconds: [10, 20], kept: [0, 3] });
});

test("a table has few rows, and the last", () => {
  assert.deepEqual(thinned(5, 10), [0, 1, 2, 3, 4]);
  assert.deepEqual(thinned(10, 4), [0, 3, 6, 9]);
  assert.deepEqual(thinned(0, 4), []);
});

test("the last value until an instant", () => {
  assert.equal(lastIn([1, 2, 3], [5, null, 7], 2), 5);
  assert.equal(lastIn([1, 2, 3], [5, null, 7], 3), 7);
  assert.equal(lastIn([1], [null], 3), null);
});
