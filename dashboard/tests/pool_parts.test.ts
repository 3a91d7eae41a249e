import { test } from "node:test";
import assert from "node:assert/strict";
import { poolCost, poolLines } from "../src/pool_parts";

const part = (standing: number, ready: number | null = null, booting: number | null = null, idle: number | null = null) => ({ standing, ready, booting, idle, costUsd: standing * 2 });
const shown = (parts: ReturnType<typeof part>[]) => poolLines({ pool: "a100", parts }).map((line) => [line.label, line.values]);

test("ready nodes are in use or idle where pods were known", () => {
  assert.deepEqual(shown([part(0, 3, 1, 1), part(0)]), [["in use", [2, null]], ["idle", [1, null]], ["booting", [1, null]]]);
});

test("ready nodes are one line where no pods were known", () => {
  assert.deepEqual(shown([part(0, 3, 0)]), [["ready", [3]], ["booting", [0]]]);
});

test("nodes that stood for jobs are a limit beside samples, and the only line without samples", () => {
  assert.deepEqual(shown([part(2, 3, 0)]).map(([label]) => label), ["ready", "booting", "standing for jobs"]);
  assert.deepEqual(shown([part(2)]), [["standing for jobs", [2]]]);
});

test("the cost is that of all parts", () => {
  assert.equal(poolCost({ pool: "p", parts: [part(1), part(2)] }), "6.00 USD");
  assert.equal(poolCost({ pool: "p", parts: [part(0)] }), "");
});
