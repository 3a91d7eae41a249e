import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkloadHistory } from "../src/berth_read_api";
import { ticksOf, timelineOf } from "../src/timeline";

const at = (minute: number) => `2026-11-24T10:${String(minute).padStart(2, "0")}:00Z`;
const ms = (minute: number) => Date.parse(at(minute));
const none = { quotaReserved: null, admitted: null, podsReady: null, ended: null, outcome: "", reason: "", preemptor: "", waits: [] };
const history = (attempts: object[], requests: object[] = []) => ({ attempts, capacityRequests: requests, nodes: [] }) as unknown as WorkloadHistory;

test("a turn has a span a phase, and what goes on is open", () => {
  const first = { ...none, attempt: 1, queued: at(0), quotaReserved: at(2), admitted: at(5), podsReady: at(6), ended: at(9), outcome: "Preempted", reason: "InClusterQueue", preemptor: "a/b" };
  const second = { ...none, attempt: 2, queued: at(0), quotaReserved: at(12) };
  const told = timelineOf(history([first, second], [{ created: at(3), provisioned: at(4) }]), null, ms(20), true);
  assert.deepEqual(
    told?.turns.map((turn) => turn.spans.map((span) => [span.phase, (span.from - ms(0)) / 60_000, (span.to - ms(0)) / 60_000, span.isOpen])),
    [
      [["queued", 0, 2, false], ["reserved", 2, 3, false], ["asked", 3, 4, false], ["booting", 4, 5, false], ["starting", 5, 6, false], ["running", 6, 9, false]],
      // A turn that keeps its place in the queue begins where the one before ended.
      [["queued", 9, 12, false], ["reserved", 12, 20, true]],
    ],
  );
  assert.deepEqual(told?.turns.map((turn) => turn.end && [turn.end.how, turn.end.preemptor, turn.end.isGood]), [["Preempted: InClusterQueue", "a/b", false], null]);
  assert.deepEqual([told?.from, told?.to, told?.forecast], [ms(0), ms(20), null]);
});

test("a forecast is a band ahead of a workload that waits", () => {
  const waits = history([{ ...none, attempt: 1, queued: at(0) }]);
  const eta = { at: at(9), p10: at(5), p50: at(15), p90: at(40) };
  assert.deepEqual(timelineOf(waits, eta, ms(10), true)?.forecast, { p10: ms(10), p50: ms(15), p90: ms(40) });
  assert.equal(timelineOf(waits, eta, ms(10), false)?.forecast, null);
  assert.equal(timelineOf(waits, { ...eta, p50: null }, ms(10), true)?.forecast, null);
  assert.equal(timelineOf(history([]), eta, ms(10), true), null);
  assert.equal(timelineOf(history([{ ...none, attempt: 1, queued: "<b>" }]), eta, ms(10), true), null);
});

test("ticks stand at whole instants of the zone", () => {
  assert.deepEqual(ticksOf(ms(1), ms(14), 0).map((tick) => (tick - ms(0)) / 60_000), [5, 10]);
  assert.ok(ticksOf(ms(0), ms(0) + 40 * 86_400_000, 0).length <= 7);
});
