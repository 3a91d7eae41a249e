import assert from "node:assert/strict";
import { test } from "node:test";
import { pastNumbers, pastUse } from "../src/past_states";

const at = (minute: number) => new Date(minute * 60_000).toISOString();
const times = [0, 15, 30, 45].map((minute) => ({ from: at(minute), to: at(minute + 15) }));
const nothing = { waiting: {}, reserved: 0, running: 0, used: [], quota: [] };
const part = { waiting: { quota: 2.5, topology: 1 }, reserved: 0.5, running: 3, used: [{ resource: "cpu", unit: "milliCPU", amount: 7 }, { resource: "gpu", unit: "items", amount: 2 }], quota: [{ resource: "gpu", unit: "items", amount: 8 }] };

test("parts in which the page saw nothing become samples, from the first workload on", () => {
  const numbers = pastNumbers({ times, parts: [nothing, part, nothing, part] }, [{ at: 46 * 60 }]);
  assert.deepEqual(numbers, [
    { at: 900, waiting: 3.5, reserved: 0.5, running: 3, causes: { quota: 2.5, topology: 1 } },
    { at: 1800, waiting: 0, reserved: 0, running: 0, causes: {} },
  ]);
});

test("a ledger without workloads has no samples", () => {
  assert.deepEqual(pastNumbers({ times, parts: [nothing, nothing, nothing, nothing] }, []), []);
  assert.deepEqual(pastNumbers({ times: [], parts: [] }, []), []);
});

test("use and quota of the main resource, from the first use on", () => {
  const endless = { ...part, quota: [{ resource: "gpu", unit: "items", amount: 1e18 }] };
  assert.deepEqual(pastUse({ times, parts: [nothing, part, nothing, endless] }, (resource) => resource === "gpu"), [
    { at: 900, used: 2, quota: 8 },
    { at: 1800, used: 0, quota: null },
    { at: 2700, used: 2, quota: null },
  ]);
  assert.deepEqual(pastUse({ times, parts: [nothing, nothing, nothing, nothing] }, () => true), []);
});
