import assert from "node:assert/strict";
import { test } from "node:test";
import { startsOf } from "../src/next";

test("the next starts are those with the earliest medians", () => {
  const row = (id: string, p50: string | null | undefined) => ({ id, eta: p50 === undefined ? null : { at: "", p10: null, p50, p90: null } });
  const rows = [row("late", "2026-11-24T12:00:00Z"), row("none", undefined), row("never", null), row("soon", "2026-11-24T10:00:00Z")];
  assert.deepEqual(startsOf(rows, 5).map((each) => each.id), ["soon", "late"]);
  assert.deepEqual(startsOf(rows, 1).map((each) => each.id), ["soon"]);
});
