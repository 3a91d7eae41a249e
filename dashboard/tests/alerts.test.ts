import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capacity, CapacityRequest } from "../src/api";
import { alertsOf, restingOf, unservedOf } from "../src/alerts";

const NOW = Date.parse("2026-11-24T10:10:00Z");
const request = (name: string, createdAt: string) => ({ class: name, createdAt }) as CapacityRequest;

test("a class is unserved after two minutes without an answer", () => {
  const pending = [
    request("a", "2026-11-24T10:08:01Z"),
    request("b", "2026-11-24T10:05:00Z"),
    request("b", "2026-11-24T10:01:00Z"),
    request("a", "2026-11-24T10:08:00Z"),
  ];
  assert.deepEqual(unservedOf(pending, NOW), [
    { class: "b", count: 2, since: "2026-11-24T10:01:00Z" },
    { class: "a", count: 1, since: "2026-11-24T10:08:00Z" },
  ]);
  assert.deepEqual(unservedOf([], NOW), []);
});

test("a class rests until the latest of its rests is over", () => {
  const stock = [
    { class: "a", restsUntil: "2026-11-24T10:20:00Z", reason: "stockout" },
    { class: "a", restsUntil: "2026-11-24T10:30:00Z", reason: "quota" },
    { class: "b", restsUntil: "2026-11-24T10:00:00Z", reason: "stockout" },
    { class: "c", restsUntil: null, reason: null },
  ] as Capacity["stock"];
  assert.deepEqual(restingOf(stock, NOW), [{ class: "a", until: "2026-11-24T10:30:00Z", reason: "quota" }]);
});

test("alerts begin with the worst, and each says what to do", () => {
  const queues = [
    { name: "fine", inactive: "", stopPolicy: "None", waiting: 4 },
    { name: "broken", inactive: "ResourceFlavor t4 is missing", stopPolicy: "None", waiting: 0 },
    { name: "held", inactive: "", stopPolicy: "Hold", waiting: 2 },
    { name: "empty", inactive: "", stopPolicy: "Hold", waiting: 0 },
  ];
  const row = (name: string, waitingSince: string) => ({ id: `a/job-${name}`, namespace: "a", name, waitingSince });
  const alerts = alertsOf({ queues, unanswered: [], stock: [], misconfigured: 1, tooLarge: 3, failed: 2, oldest: [row("old", "2026-11-22T10:00:00Z")] }, NOW);
  assert.deepEqual(alerts.map((each) => [each.kind, each.severity]), [
    ["inactive", "bad"],
    ["misconfigured", "bad"],
    ["never", "bad"],
    ["failed", "warn"],
    ["stopped", "warn"],
    ["long", "warn"],
  ]);
  assert.ok(alerts.every((each) => each.remedy.length > 20));
  assert.equal(alerts.find((each) => each.kind === "never")?.count, 3);
  assert.deepEqual(alertsOf({ queues: queues.slice(0, 1), unanswered: [], stock: [], misconfigured: 0, tooLarge: 0, failed: 0, oldest: [] }, NOW), []);
});
