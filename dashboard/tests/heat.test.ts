import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf } from "../src/heat";

const none = { answered: 0, provisioned: 0, stockouts: 0 };
const hours = Array.from({ length: 24 }, (_, hour) => (hour === 22 ? { answered: 4, provisioned: 1, stockouts: 3 } : none));

test("hours of UTC stand at the hours of the reader's zone", () => {
  const busy = (offset: number) => cellsOf(hours, offset).filter((cell) => cell.answered > 0).map((cell) => cell.hour);
  assert.deepEqual(busy(0), [22]);
  assert.deepEqual(busy(-120), [0]); // two hours before UTC
  assert.deepEqual(busy(300), [17]);
  assert.deepEqual(busy(-330), [3]); // half an hour counts in the hour that it begins in
});

test("a share is the part of the requests with an answer that was granted; an hour without one has none", () => {
  const cells = cellsOf(hours, 0);
  assert.equal(cells.length, 24);
  assert.equal(cells[22]?.share, 0.25);
  assert.equal(cells[22]?.stockouts, 3);
  assert.equal(cells[21]?.share, null);
});
