import assert from "node:assert/strict";
import { test } from "node:test";
import { causeColor, causeLabel, causeMeaning, howWord, lineOf, plain, policyWords, reasonWord, remarkOf } from "../src/words";

const TWO = "nvidia.com/gpu in flavor a100: needs 16, 3 free of 8 (cohort research has no more to lend); nvidia.com/gpu in flavor h100: needs 16, 0 free of 8 (cohort research has no more to lend)";
const NEVER = "nvidia.com/gpu in flavor a100: needs 48, 6 free of 4 (never more than 32 in this queue); nvidia.com/gpu in flavor h100: needs 48, 0 free of 0 (never more than 16 in this queue)";

test("texts of the server's workings become what they mean for the reader", () => {
  for (const [told, meant] of [
    ["bypassed scheduling evaluation because an equivalent workload recently failed", "it waits behind a workload that asks for the same and found no quota"],
    ["not looked at yet", "workloads before it in the queue go first"],
    ["its priority is not lower (withinClusterQueue: LowerPriority)", "its priority is not lower"],
    ["couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor any, 5 more needed", "no flavor for pod set main: cpu in flavor any: 5 more needed than is free"],
    ["Preempted to accommodate a workload (UID: 1-2, JobUID: 3) due to prioritization in the ClusterQueue; preemptor path: /a/b; preemptee path: /a/c", "it gave way to another workload, due to prioritization in the ClusterQueue"],
    ["the cloud says no", "the cloud says no"],
  ]) {
    assert.equal(plain(told ?? ""), meant);
  }
});

test("what was tried for one amount is one sentence", () => {
  assert.equal(lineOf(`quota: ${TWO}`), "needs 16 nvidia.com/gpu; free: 3 in a100, 0 in h100 (cohort research has no more to lend)");
  assert.equal(lineOf(NEVER), "needs 48 nvidia.com/gpu, and the queue can never give more than 32");
  // Amounts of two resources stay apart.
  assert.equal(lineOf("cpu in flavor any: needs 9, 5 free of 4; memory in flavor any: needs 2Gi, 1Gi free of 4Gi"), "cpu in flavor any: needs 9, free now: 5 (own quota 4); memory in flavor any: needs 2Gi, free now: 1Gi (own quota 4Gi)");
});

test("a workload that asks for more than every flavor can give is told the most that the queue can give", () => {
  assert.equal(lineOf(`too large: ${NEVER}`), "needs 48 nvidia.com/gpu, and the queue can never give more than 32");
  const some = "nvidia.com/gpu in flavor a: needs 9, 1 free of 8 (never more than 8 in this queue); nvidia.com/gpu in flavor b: needs 9, 1 free of 16";
  assert.ok(!lineOf(`quota: ${some}`).includes("can never"));
});

test("a remark is without the cause that stands beside it, and names a place as one", () => {
  assert.equal(remarkOf({ state: "running", cause: "", remark: "a100" }), "on flavor a100");
  for (const [remark, words] of [
    ["a100: node-1", "a100 on node-1"],
    ["a100: node-1, node-2", "a100 on node-1 and node-2"],
    ["a100+any: node-3, node-5, gke-a.b and 2 more; 1 pod starting", "a100+any on node-3, node-5, gke-a.b and 2 more; 1 pod starting"],
    ["a100: 2 pods starting", "a100: 2 pods starting"],
    ["a100: lost node-1; another node is being looked for", "a100: lost node-1; another node is being looked for"],
  ]) {
    assert.equal(remarkOf({ state: "running", cause: "", remark: remark ?? "" }), words);
  }
  assert.equal(remarkOf({ state: "waiting", cause: "queued", remark: "queued: not looked at yet" }), "workloads before it in the queue go first");
  assert.equal(remarkOf({ state: "succeeded", cause: "", remark: "ok in 41s" }), "ok in 41s");
});

test("causes, reasons and policies have words, and those that are unknown stay", () => {
  assert.deepEqual([causeLabel("quota"), causeLabel("check budget"), causeLabel("new one")], ["quota in use", "admission check budget", "new one"]);
  assert.deepEqual([causeMeaning("new one"), causeColor("new one")], ["", "--c8"]);
  assert.match(causeMeaning("check budget"), /admission check budget has not agreed/);
  assert.equal(reasonWord("WaitingForQuota"), "waiting for quota");
  assert.equal(howWord("Preempted: InCohortReclamation"), "preempted: its cohort took back what it had borrowed");
  assert.equal(howWord("Evicted: PodsReadyTimeout"), "evicted: pods ready timeout");
  assert.equal(policyWords("withinClusterQueue: LowerPriority, other: New"), "It may preempt: those of lower priority in its own queue; other: New.");
});
