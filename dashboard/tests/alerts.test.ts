import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capacity, CapacityRequest } from "../src/api";
import { restingOf, unservedOf } from "../src/alerts";

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
