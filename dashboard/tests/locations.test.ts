import assert from "node:assert/strict";
import { test } from "node:test";
import { Locations, type Location } from "../src/locations";

interface Given {
  items?: Location[];
  failed?: string[];
  namespacesWithoutPods?: string[];
  isBusy?: boolean; // the answer is an error
  ms?: number; // how long it takes
}

// A clock that the test moves, and a server that answers what it is told.
function world(answer: (ids: string[]) => Given = () => ({})) {
  const asked: string[][] = [];
  const told: Record<string, string>[] = [];
  let calls: { at: number; call: () => void }[] = [];
  let now = 0;
  const later = (call: () => void, ms: number) => {
    const entry = { at: now + ms, call };
    calls.push(entry);
    return () => void (calls = calls.filter((each) => each !== entry));
  };
  const locations = new Locations(
    async (ids) => {
      asked.push([...ids]);
      const { items = ids.map((id) => ({ id, remark: `t4: n-${id}` })), failed = [], namespacesWithoutPods = [], isBusy = false, ms = 0 } = answer(ids);
      if (ms > 0) await new Promise<void>((done) => later(done, ms));
      if (isBusy) throw new Error("busy");
      return { items, failed, namespacesWithoutPods };
    },
    (remarks) => told.push(Object.fromEntries(remarks)),
    later,
    () => now,
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

test("new rows do not put off the next round of the others", async () => {
  const { locations, asked, pass } = world();
  locations.show("a/old");
  for (let i = 0; i < 12; i++) {
    locations.show(`b/${i}`);
    await pass(5_000);
  }
  assert.ok(asked.filter((ids) => ids.includes("a/old")).length >= 5, JSON.stringify(asked));
});

test("a row that leaves and comes back is asked for at once", async () => {
  const { locations, asked, told, pass } = world();
  const leave = locations.show("a/x");
  locations.show("a/stays");
  await pass(1_000);
  leave();
  locations.show("b/other");
  await pass(1_000);
  assert.deepEqual(Object.keys(told.at(-1) ?? {}), ["a/stays", "b/other"]);
  locations.show("a/x");
  await pass(1_000);
  assert.deepEqual(asked.at(-1), ["a/x"]);
  assert.equal(told.at(-1)?.["a/x"], "t4: n-a/x");
});

test("a failure keeps what is known; the end of a session forgets it", async () => {
  let isBusy = false;
  const { locations, asked, told, pass } = world(() => ({ isBusy }));
  locations.show("a/x");
  await pass(1_000);
  isBusy = true;
  await pass(20_000);
  assert.equal(asked.length, 3);
  assert.equal(told.length, 1);
  locations.forget();
  assert.deepEqual(told.at(-1), {});
});

test("what does not run any more has no place", async () => {
  let items: Location[] | undefined;
  const { locations, told, pass } = world(() => (items ? { items } : {}));
  locations.show("a/x");
  await pass(1_000);
  items = [];
  await pass(10_000);
  assert.deepEqual(told.at(-1), {});
});

test("workloads whose pods are not given keep what is known", async () => {
  let failed: string[] = [];
  const { locations, told, pass } = world((ids) => ({ items: ids.filter((id) => !failed.includes(id)).map((id) => ({ id, remark: `t4: n-${failed.length}` })), failed }));
  locations.show("a/x");
  locations.show("b/y");
  await pass(1_000);
  failed = ["a/x"];
  await pass(10_000);
  assert.deepEqual(told.at(-1), { "a/x": "t4: n-0", "b/y": "t4: n-1" });
});

test("a namespace without the right to list pods is asked for seldom, the others as ever", async () => {
  const { locations, asked, pass } = world((ids) => ({ namespacesWithoutPods: ids.some((id) => id.startsWith("other/")) ? ["other"] : [] }));
  locations.show("other/x");
  await pass(1_000);
  for (let i = 0; i < 10; i++) {
    locations.show(`other/${i}`);
    locations.show(`own/${i}`);
    await pass(10_000);
  }
  assert.equal(asked.filter((ids) => ids.some((id) => id.startsWith("other/"))).length, 1, JSON.stringify(asked));
  assert.ok(asked.filter((ids) => ids.includes("own/0")).length >= 9, JSON.stringify(asked));
  await pass(300_000);
  assert.ok(asked.filter((ids) => ids.includes("other/x")).length >= 2);
  const alone = world(() => ({ namespacesWithoutPods: ["other"] }));
  alone.locations.show("other/x");
  await alone.pass(290_000);
  assert.equal(alone.asked.length, 1);
  await alone.pass(30_000);
  assert.equal(alone.asked.length, 2);
});

test("a slow server is asked less often, and all rows are asked for before the next round", async () => {
  const slow = world(() => ({ ms: 2_000 }));
  slow.locations.show("a/x");
  await slow.pass(60_000);
  assert.equal(slow.asked.length, 2, "a round of 40 s");
  const many = world((ids) => ({ ms: ids.includes("a/00") ? 100 : 6_000 }));
  for (let i = 0; i < 70; i++) many.locations.show(`a/${String(i).padStart(2, "0")}`);
  await many.pass(30_000);
  assert.deepEqual(
    many.asked.map((ids) => ids.length),
    [32, 32, 6],
  );
  await many.pass(89_000);
  assert.equal(many.asked.length, 3, "a round of 120 s");
  await many.pass(2_000);
  assert.equal(many.asked[3]?.length, 32);
});
