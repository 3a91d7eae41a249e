import assert from "node:assert/strict";
import { test } from "node:test";
import { quotaText, slider } from "../src/quota";

test("quotas are written as the API reads them", () => {
  assert.equal(quotaText(4_000, "milliCPU"), "4");
  assert.equal(quotaText(1_500, "milliCPU"), "1500m");
  assert.equal(quotaText(3 * 2 ** 30, "bytes"), String(3 * 2 ** 30));
  assert.equal(quotaText(16, "items"), "16");
});

test("a slider goes to twice the quota, in steps that meet it", () => {
  for (const nominal of [0, 1, 3, 4, 100, 1_000, 12_345]) {
    const { most, step } = slider({ flavor: "f", resource: "gpu", unit: "items", nominal });
    assert.ok(most >= 2 * nominal && most >= 8, `${nominal}: ${most}`);
    assert.equal(nominal % step, 0);
  }
  assert.deepEqual(slider({ flavor: "f", resource: "cpu", unit: "milliCPU", nominal: 4_000 }), { most: 8_000, step: 1_000 });
});
