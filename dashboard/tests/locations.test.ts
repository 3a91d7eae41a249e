import assert from "node:assert/strict";
import { test } from "node:test";
import { Locations, type Location } from "../src/locations";

// A clock that the test moves, and a server that answers what it is told.
function world(answer: (ids: string[]) => Location[] | Error = (ids) => ids.map((id) => ({ id, remark: `t4: n-${id}` }))) {
  const asked: string[][] = [];
  const told: Record<string, string>[] = [];
  let calls: { at: number; call: () => void }[] = [];
  let now = 0;
  const locations = new Locations(
    async (ids) => {
      asked.push([...ids]);
      const found = answer(ids);
      if (found instanceof Error) throw found;
      return found;
    },
    (remarks) => told.push(Object.fromEntries(remarks)),
    (call, ms) => {
      const entry = { at: now + ms, call };
      calls.push(entry);
      return () => (calls = calls.filter((each) => each !== entry));
    },
  );
  const pass = async (ms: number) => {
    for (const end = now + ms; ; ) {
      const next = calls.filter((each) => each.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) return void (now = end);
      now = next.at;
      calls = calls.filter((each) => each !== next);
      next.call();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { locations, asked, told, pass, planned: () => calls.length };
}

test("rows that come into sight together are one request, and are asked again while in sight", async () => {
  const { locations, asked, told, pass, planned } = world();
  const leave = ["a/y", "a/x", "a/x"].map((id) => locations.show(id));
  await pass(1_000);
  assert.deepEqual(asked, [["a/x", "a/y"]]);
  assert.deepEqual(told, [{ "a/x": "t4: n-a/x", "a/y": "t4: n-a/y" }]);
  await pass(10_000);
  assert.equal(asked.length, 2);
  assert.equal(told.length, 1, "nothing has changed");
  leave[0]?.();
  leave[1]?.();
  await pass(10_000);
  assert.deepEqual(asked[2], ["a/x"], "another row shows it");
  leave[2]?.();
  await pass(60_000);
  assert.equal(asked.length, 3, "nothing is in sight");
  assert.equal(planned(), 0);
});

test("a request names 32 workloads at most; a new row does not wait for the next round", async () => {
  const { locations, asked, pass } = world();
  for (let i = 0; i < 40; i++) locations.show(`a/${i}`);
  await pass(1_000);
  assert.deepEqual(
    asked.map((each) => each.length),
    [32, 8],
  );
  locations.show("b/new");
  await pass(1_000);
  assert.deepEqual(asked[2], ["b/new"]);
});

test("a failure keeps what is known; the end of a session forgets it", async () => {
  let isBusy = false;
  const { locations, asked, told, pass } = world((ids) => (isBusy ? new Error("busy") : ids.map((id) => ({ id, remark: "t4: n1" }))));
  locations.show("a/x");
  await pass(1_000);
  isBusy = true;
  await pass(20_000);
  assert.equal(asked.length, 3);
  assert.deepEqual(told, [{ "a/x": "t4: n1" }]);
  locations.forget();
  assert.deepEqual(told.at(-1), {});
});

test("what does not run any more has no place", async () => {
  let runs = true;
  const { locations, told, pass } = world((ids) => (runs ? ids.map((id) => ({ id, remark: "t4: n1" })) : []));
  locations.show("a/x");
  await pass(1_000);
  runs = false;
  await pass(10_000);
  assert.deepEqual(told.at(-1), {});
});
