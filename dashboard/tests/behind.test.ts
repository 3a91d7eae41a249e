import assert from "node:assert/strict";
import { test } from "node:test";
import { isUntried, placesOf, queuesToOrder, type Ordered } from "../src/behind";

const EQUAL = "quota: waits behind a workload with equal requests";
const UNSEEN = "queued: not looked at yet";

function row(name: string, gpus: number, remark: string, more: Partial<Ordered> = {}): Ordered {
  const requests = [{ resource: "nvidia.com/gpu", unit: "items", amount: gpus }];
  return { id: `nlp/job-${name}`, namespace: "nlp", name, localQueue: "q", clusterQueue: "nlp", requests, remark, ...more };
}

const told = (rows: Ordered[], isWhole = true) => [...placesOf(rows, isWhole)].map(([id, { before, position, waiting }]) => [id, before.name, position, waiting]);

test("a row that was not tried stands behind the nearest tried one with the same request", () => {
  const rows = [row("a", 8, "quota: 8 more needed"), row("b", 4, "quota: 4 more needed"), row("c", 8, EQUAL), row("d", 4, UNSEEN), row("e", 2, EQUAL)];
  assert.deepEqual(told(rows), [
    ["nlp/job-c", "a", 3, 5],
    ["nlp/job-d", "b", 4, 5],
  ]);
  // One that was tried is in the way of those after it, and stands behind nobody itself.
  assert.deepEqual(told([row("a", 8, "quota: …"), row("b", 8, "quota: …"), row("c", 8, EQUAL)]), [["nlp/job-c", "b", 3, 3]]);
  assert.deepEqual(told([row("c", 8, EQUAL), row("a", 8, "quota: …")]), []);
});

test("positions count the LocalQueue, equals are those of the ClusterQueue", () => {
  const other = { namespace: "vision", clusterQueue: "nlp" };
  const rows = [row("a", 8, "quota: …"), row("b", 8, EQUAL, { ...other, id: "vision/job-b" }), row("c", 8, EQUAL), row("d", 8, EQUAL, { clusterQueue: "speech", localQueue: "s" })];
  assert.deepEqual(told(rows), [
    ["vision/job-b", "a", 1, 1],
    ["nlp/job-c", "a", 2, 2],
  ]);
});

test("how many wait is unknown while rows are missing", () => {
  assert.deepEqual(told([row("a", 8, "quota: …"), row("b", 8, EQUAL)], false), [["nlp/job-b", "a", 2, null]]);
});

test("only queues with untried rows are asked for their order", () => {
  const waiting = (clusterQueue: string, remark: string, state = "waiting") => ({ clusterQueue, remark, state });
  const rows = [waiting("c", EQUAL), waiting("a", UNSEEN), waiting("c", UNSEEN), waiting("b", "quota: …"), waiting("", UNSEEN), waiting("d", EQUAL, "running"), waiting("e", EQUAL)];
  assert.deepEqual(queuesToOrder(rows, 9), ["a", "c", "e"]);
  assert.deepEqual(queuesToOrder(rows, 1), ["c"]);
  assert.equal(isUntried({ remark: "capacity: it waits" }), false);
});
