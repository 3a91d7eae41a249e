// Goal: a report over time offers the measures that have values, the most important first, and draws the lines of one.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReportHistory, ReportPart } from "../src/berth_read_api";
import { firstDrawn, linesOf, measuresOf } from "../src/over_time";

const part = (of: Partial<ReportPart>): ReportPart => ({ waitedHours: 0, usedHours: {}, destroyedHours: {}, chargedHours: {}, costUsd: 0, ...of });

const history: ReportHistory = {
  by: "team",
  times: [
    { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" },
    { from: "2026-01-02T00:00:00Z", to: "2026-01-03T00:00:00Z" },
  ],
  lines: [
    { key: "speech", parts: [part({ usedHours: { cpu: 4, "berth.dev/gpus": 1, "nvidia.com/gpu": 1 } }), part({})] },
    { key: "", parts: [part({ waitedHours: 3 }), part({ usedHours: { "berth.dev/gpus": 8, "nvidia.com/gpu": 8 } })] },
  ],
  others: [part({}), part({ usedHours: { cpu: 2 } })],
  otherLines: 5,
};

test("measures without a value are left out, and GPUs come first", () => {
  assert.deepEqual(
    measuresOf(history).map((each) => each.key),
    ["used berth.dev/gpus", "used cpu", "waited"],
  );
  assert.equal(measuresOf(history)[0]?.name, "GPU hours used");
});

test("the largest line comes first, lines without a value are left out", () => {
  const [gpus, cpus] = measuresOf(history);
  assert.ok(gpus && cpus);
  assert.deepEqual(
    linesOf(history, gpus).map((line) => [line.label, line.values]),
    [
      ["none", [0, 8]],
      ["speech", [1, 0]],
    ],
  );
  assert.deepEqual(
    linesOf(history, cpus).map((line) => [line.label, line.values]),
    [
      ["speech", [4, 0]],
      ["5 others", [0, 2]],
    ],
  );
});

test("the time before the first value is left out", () => {
  const line = (values: number[]) => ({ label: "a", values, text: String });
  const late = [...Array.from({ length: 23 }, () => 0), 5];
  assert.equal(firstDrawn([line(late)]), 16);
  assert.equal(firstDrawn([line([0, 0, 0, ...Array.from({ length: 21 }, () => 1)])]), 3);
  assert.equal(firstDrawn([line([1, 0])]), 0);
  assert.equal(firstDrawn([]), 0);
});
