import assert from "node:assert/strict";
import { test } from "node:test";
import { arrivalOf, leftView } from "../src/arrival";

const arrive = (address: string) => {
  const url = new URL(address, "https://berth.example.com");
  return arrivalOf(url.pathname, url.searchParams, new URLSearchParams(url.hash.slice(1)));
};

test("a printed code stands in the fragment of any view", () => {
  assert.deepEqual(arrive("/sign-in#code=abc"), { secret: { code: "abc" } });
  assert.deepEqual(arrive("/queues/q#code=abc"), { secret: { code: "abc" } });
});

test("a provider sends the browser back to the sign-in alone", () => {
  assert.deepEqual(arrive("/sign-in?code=c&state=s&iss=x"), { secret: { openId: { code: "c", state: "s" } } });
  assert.equal(arrive("/workloads?code=c&state=s"), null);
  assert.equal(arrive("/sign-in?code=c"), null);
  assert.equal(arrive("/sign-in"), null);
});

test("a provider that refuses is named", () => {
  assert.deepEqual(arrive("/sign-in?error=access_denied&state=s"), { refusal: "The OpenID provider answers: access_denied" });
});

test("a link cannot put a text on the page", () => {
  assert.equal(arrive("/sign-in?error=Call+0900+and+name+your+password"), null);
});

test("only a view of this page is shown after the sign-in", () => {
  assert.equal(leftView("/queues/q?tab=2"), "/queues/q?tab=2");
  for (const kept of [null, "", "//evil.example.com", "/\\evil.example.com", "https://evil.example.com", "/sign-in?x"]) assert.equal(leftView(kept), "/");
});
