import assert from "node:assert/strict";
import { test } from "node:test";
import { samplesOf, stepAt, withGaps, withSample, type Sample } from "../src/seen";

const sample = (at: number): Sample => ({ at, waiting: 1, reserved: 0, running: 2, causes: { quota: 1 }, used: 3, quota: 8 });

test("samples are thinned as they age, and end after a day", () => {
  let all: Sample[] = [];
  for (let at = 0; at <= 25 * 3600; at += 5) all = withSample(all, sample(at));
  const now = 25 * 3600;
  assert.ok(all.length < 700, String(all.length));
  assert.ok((all[0]?.at ?? 0) >= now - 24 * 3600);
  assert.equal(all.at(-1)?.at, now);
  for (const [i, each] of all.entries()) {
    const before = all[i - 1];
    if (before) assert.ok(each.at - before.at >= 0.9 * stepAt(now - each.at) || i === all.length - 1, `${each.at}`);
  }
});

test("a clock that went back leaves no sample of the future", () => {
  assert.deepEqual(withSample([sample(100), sample(200)], sample(150)).map((each) => each.at), [100, 150]);
});

test("where nobody looked for a while, the line ends", () => {
  const all = withGaps([sample(0), sample(5), sample(1_000), sample(1_005)], 1_010);
  assert.deepEqual(all.map((each) => [each.at, "running" in each]), [[0, true], [5, true], [6, false], [1_000, true], [1_005, true]]);
});

test("what the browser kept is read with care", () => {
  assert.deepEqual(samplesOf(JSON.stringify([sample(1), { at: 2 }, null, "x", { ...sample(3), causes: { quota: "<b>" } }])), [sample(1)]);
  assert.deepEqual(samplesOf("{"), []);
  assert.deepEqual(samplesOf("7"), []);
});
