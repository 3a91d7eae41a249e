// Goal: amounts stand as Kubernetes writes them, times in two units at most, queues below their cohorts; a command
// is one for every shell, whatever the name is.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Queue } from "../src/api";
import { amount, count, distance, duration, instantsOf, ordinal, plural } from "../src/format";
import { shellWord } from "../src/shell";
import { treeOf, type Cohort } from "../src/tree";

test("amounts", () => {
  const rows: [number, string, string][] = [
    [0, "milliCPU", "0"],
    [1500, "milliCPU", "1500m"],
    [16_000, "milliCPU", "16"],
    [1_000_000_000_000, "milliCPU", "∞"],
    [4 * 2 ** 30, "bytes", "4Gi"],
    [1.5 * 2 ** 20, "bytes", "1.5Mi"],
    [1e9 * 2 ** 30, "bytes", "∞"],
    [8, "items", "8"],
    [12_345, "items", "12,345"],
    [1e9, "items", "∞"],
  ];
  for (const [value, unit, wanted] of rows) assert.equal(amount(value, unit), wanted);
});

test("places in an order", () => {
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 22, 101, 111, 113, 1_000].map(ordinal), ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "22nd", "101st", "111th", "113th", "1,000th"]);
});

test("times", () => {
  const rows: [number, string][] = [
    [-5, "0s"],
    [59, "59s"],
    [61, "1m1s"],
    [60 * 12 + 5, "12m"],
    [3600 * 3 + 120, "3h2m"],
    [3600 * 26, "1d2h"],
    [86_400 * 12 + 3600, "12d"],
  ];
  for (const [seconds, wanted] of rows) assert.equal(duration(seconds * 1000), wanted);
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(distance("2025-12-31T23:59:00Z", now), "1m ago");
  assert.equal(distance("2026-01-01T02:00:00Z", now), "in 2h");
  assert.equal(distance("no time", now), "no time");
  assert.equal(plural(1, "workload"), "1 workload");
  assert.equal(plural(1_000, "workload"), `${count(1_000)} workloads`);
});

test("queues stand below their cohorts", () => {
  const queue = (name: string, cohort: string, parents: string[] = []) => ({ name, cohort, parents }) as unknown as Queue;
  const tree = treeOf([queue("free", ""), queue("a", "team", ["org"]), queue("b", "org"), queue("c", "team", ["org"])]);
  const drawn = (cohort: Cohort): string =>
    [...cohort.queues.map((each) => each.name), ...[...cohort.cohorts.values()].map((each) => `${each.name}(${drawn(each)})`)].join(" ");
  assert.equal(drawn(tree), "free org(b team(a c))");
});

test("a name is one word of a shell", () => {
  assert.equal(shellWord("job-x.1"), "job-x.1");
  assert.equal(shellWord("x; rm -rf ~"), "'x; rm -rf ~'");
  assert.equal(shellWord("it's"), "'it'\\''s'");
});

test("instants in texts stand apart", () => {
  const at = "2026-11-24T10:52:03Z";
  assert.deepEqual(instantsOf(`Accepted ${at}: waits until ${at}`), ["Accepted ", { at }, ": waits until ", { at }]);
  assert.deepEqual(instantsOf(`${at}.`), [{ at }, "."]);
  assert.deepEqual(instantsOf("2026-11-24 and more"), ["2026-11-24 and more"]);
  assert.deepEqual(instantsOf(""), []);
});
