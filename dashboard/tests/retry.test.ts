import assert from "node:assert/strict";
import { test } from "node:test";
import { isPassing, Retrier } from "../src/retry";

function made(random = 0) {
  const pauses: number[] = [];
  let run = () => {};
  let asked = 0;
  const retrier = new Retrier(
    () => (asked += 1),
    (again, milliseconds) => {
      pauses.push(milliseconds);
      run = again;
      return 0 as unknown as ReturnType<typeof setTimeout>;
    },
    () => random,
  );
  return { retrier, pauses, fire: () => run(), asked: () => asked };
}

test("a busy server and no answer are tried again, a refusal is not", () => {
  assert.deepEqual([503, 0, 403, 404, 401, 400].map(isPassing), [true, true, false, false, false, false]);
  const { retrier, pauses, fire, asked } = made();
  for (const status of [400, 401, 403, 404]) retrier.settle({ status });
  assert.deepEqual(pauses, []);
  retrier.settle({ status: 503 });
  assert.deepEqual(pauses, [1_000]);
  fire();
  assert.equal(asked(), 1);
});

test("pauses lie between 1 and 3 s, double, and are bounded", () => {
  for (const random of [0, 0.5, 0.999]) {
    const { retrier, pauses } = made(random);
    for (let i = 0; i < 8; i += 1) retrier.settle({ status: 0 });
    const first = pauses[0] ?? 0;
    assert.ok(first >= 1_000 && first < 3_000, String(first));
    assert.equal(pauses[1], 2 * first);
    assert.equal(pauses.at(-1), 30_000);
    retrier.settle(null);
    retrier.settle({ status: 503 });
    assert.equal(pauses.at(-1), first, "an answer begins anew");
  }
});
