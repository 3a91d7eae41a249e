import assert from "node:assert/strict";
import { test } from "node:test";
import { isMain, onNodes, totalOf } from "../src/totals";

const use = (resource: string, used: number, nominal: number, unit = "items") => ({ resource, unit, used, nominal, borrowed: 0, lent: 0 });

test("queues are for GPUs where they have some, else for processors", () => {
  const gpus = [{ resources: [use("cpu", 1_000, 8_000, "milliCPU"), use("nvidia.com/gpu", 3, 8)] }, { resources: [use("nvidia.com/gpu", 5, 8)] }];
  assert.deepEqual(totalOf(gpus), { resource: "GPUs", unit: "items", used: 8, quota: 16 });
  assert.deepEqual(totalOf([{ resources: [use("cpu", 1_000, 8_000, "milliCPU")] }]), { resource: "CPUs", unit: "milliCPU", used: 1_000, quota: 8_000 });
  assert.equal(totalOf([{ resources: [use("memory", 1, 2, "bytes")] }]), null);
});

test("a main resource counts the same resources in quota, on nodes and over time", () => {
  const names = ["cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu", "berth.dev/gpus"];
  const counted = (main: string) => names.filter((name) => isMain(main, name));
  assert.deepEqual(counted("CPUs"), ["cpu"]);
  assert.deepEqual(counted("GPUs"), ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu"]);
  assert.deepEqual(counted("amd.com/gpu"), ["amd.com/gpu"]);
  const mainOf = (...resources: string[]) => totalOf([{ resources: resources.map((name) => use(name, 1, 4)) }]);
  assert.deepEqual(mainOf("cpu", "nvidia.com/gpu", "berth.dev/gpus"), { resource: "GPUs", unit: "items", used: 1, quota: 4 });
  assert.deepEqual(mainOf("cpu", "amd.com/gpu"), { resource: "amd.com/gpu", unit: "items", used: 1, quota: 4 });
  assert.deepEqual(mainOf("amd.com/gpu", "nvidia.com/mig-1g.5gb"), { resource: "GPUs", unit: "items", used: 2, quota: 8 });
});

test("a quota without an end is none to fill", () => {
  assert.deepEqual(totalOf([{ resources: [use("nvidia.com/gpu", 3, 1e9)] }]), { resource: "GPUs", unit: "items", used: 3, quota: null });
});

test("nodes have what is ready of the resource that the queues are for", () => {
  const machines = [
    { resource: "cpu", unit: "milliCPU", ready: 64_000, all: 96_000 },
    { resource: "nvidia.com/gpu", unit: "items", ready: 8, all: 16 },
    { resource: "amd.com/gpu", unit: "items", ready: 4, all: 4 },
  ];
  const total = (resource: string) => ({ resource, unit: "items", used: 0, quota: null });
  assert.equal(onNodes(total("GPUs"), machines), 12);
  assert.equal(onNodes(total("amd.com/gpu"), machines), 4);
  assert.equal(onNodes(total("CPUs"), machines), 64_000);
  assert.equal(onNodes(total("GPUs"), undefined), null);
  assert.equal(onNodes(null, machines), null);
});
