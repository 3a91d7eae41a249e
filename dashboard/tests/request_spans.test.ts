import assert from "node:assert/strict";
import { test } from "node:test";
import { lineStart, requestLine } from "../src/request_spans";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString();
const time = (minute: number) => Date.parse(at(minute));
const row = (state: string, created: number, since: number | null) => ({ id: "a/r", state, createdAt: at(created), stateSince: since === null ? null : at(since) });

test("a request that waits is one open bar up to now", () => {
  assert.deepEqual(requestLine(row("Pending", 5, null), time(0), time(10)), {
    spans: [{ phase: "waits", from: 50, to: 100, isOpen: true }],
    failedAt: null,
    beganBefore: false,
  });
  assert.equal(requestLine(row("Accepted", 5, 6), time(0), time(10)).spans[0]?.to, 100);
});

test("a granted request waits, then has its nodes", () => {
  assert.deepEqual(requestLine(row("Provisioned", 0, 4), time(0), time(10)).spans, [
    { phase: "waits", from: 0, to: 40, isOpen: false },
    { phase: "holds", from: 40, to: 100, isOpen: true },
  ]);
});

test("a failed request ends where it failed; a line may begin later than the request", () => {
  const line = requestLine(row("Failed", 0, 15), time(10), time(20));
  assert.deepEqual([line.failedAt, line.beganBefore, line.spans.length], [50, true, 1]);
});

test("the line begins with the oldest of the first rows, a minute ago at the latest", () => {
  assert.equal(lineStart([row("Pending", 7, null), row("Failed", 3, 4)], time(10)), time(3));
  assert.equal(lineStart([], time(10)), time(9));
});
