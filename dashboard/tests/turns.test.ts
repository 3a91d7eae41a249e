import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkloadHistory } from "../src/berth_read_api";
import { turnsOf } from "../src/turns";

type Turn = WorkloadHistory["attempts"][number];
type Request = WorkloadHistory["capacityRequests"][number];

const at = (minute: number) => `2026-11-24T10:${String(minute).padStart(2, "0")}:00Z`;
const turn = (attempt: number, queued: string, more: Partial<Turn> = {}) => ({ attempt, queued, ended: null, outcome: "", reason: "", waits: [], ...more }) as unknown as Turn;
const request = (created: string, provisioned: string | null) => ({ created, provisioned }) as Request;

test("a request belongs to the turn in which it was made", () => {
  const told = turnsOf({
    attempts: [turn(1, at(0), { ended: at(20), outcome: "Preempted", reason: "InCohortReclamation" }), turn(2, at(30))],
    capacityRequests: [request(at(5), null), request(at(10), at(12)), request(at(30), at(40))],
    nodes: [],
  });
  assert.deepEqual(told.map((each) => [each.asked, each.provisioned]), [
    [at(5), at(12)],
    [at(30), at(40)],
  ]);
  assert.deepEqual(told.map((each) => each.how), ["Preempted: InCohortReclamation", ""]);
});

test("a turn that keeps its place in the queue begins at the end of the one before", () => {
  const told = turnsOf({
    attempts: [turn(1, at(0), { ended: at(20), outcome: "Evicted" }), turn(2, at(0))],
    capacityRequests: [request(at(5), at(12)), request(at(25), null)],
    nodes: [],
  });
  assert.deepEqual(told.map((each) => [each.asked, each.provisioned]), [
    [at(5), at(12)],
    [at(25), null],
  ]);
});

test("waits are told with their causes", () => {
  const waits = [
    { cause: "WaitingForQuota", from: at(0), seconds: 90 },
    { cause: "AdmissionChecks", from: at(2), seconds: 3_600 },
  ];
  const [told] = turnsOf({ attempts: [turn(1, at(0), { waits, outcome: "Succeeded", reason: "Succeeded" })], capacityRequests: [], nodes: [] });
  assert.equal(told?.waits, "WaitingForQuota 1m30s, AdmissionChecks 1h");
  assert.equal(told?.how, "Succeeded");
  assert.equal(told?.asked, null);
});
