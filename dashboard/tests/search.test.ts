import assert from "node:assert/strict";
import { test } from "node:test";
import { jobFilter, named } from "../src/search";

const all = ["team-b", "vision-team", "team", "Team-A", "speech"].map((name) => ({ name }));

test("names that begin with the text come first, then the shorter ones", () => {
  assert.deepEqual(named(all, "TEAM").map((each) => each.name), ["team", "Team-A", "team-b", "vision-team"]);
  assert.deepEqual(named(all, "team", 1).map((each) => each.name), ["team"]);
  assert.deepEqual(named(all, "x"), []);
});

test("a job may be named with its namespace", () => {
  assert.deepEqual(jobFilter("train"), { name: "train" });
  assert.deepEqual(jobFilter("team-a/tr"), { namespace: "team-a", name: "tr" });
  assert.deepEqual(jobFilter("/x"), { name: "/x" });
});
