// Who lends quota to whom in a tree of cohorts, now: from the quota and the use of each flavor.
//
// A queue borrows within its cohort first, then in the cohorts above. A cohort pools what is unused, so that the lender
// of one borrower may be unknown: what is lent is then shared among lenders in proportion to what they leave unused.
import type { Cohort as CohortRow, Queue } from "./api";
import { amount, isInfinite } from "./format";
import type { Cohort } from "./tree";

export interface Party {
  key: string;
  name: string;
  kind: "queue" | "cohort" | "elsewhere" | "others"; // cohort: its own quota; elsewhere: no lender is seen
  moved: number; // lent or borrowed
  used: number; // of all flavors, with nominal; 0 of what is no queue
  nominal: number;
}
export interface Flow {
  from: string; // keys of parties
  to: string;
  amount: number;
}
export interface Flows {
  resource: string;
  unit: string;
  lenders: Party[];
  borrowers: Party[];
  flows: Flow[];
  isShared: boolean; // amounts of single flows are shares
}

type Amounts = Map<string, number>;
interface Open {
  needs: Amounts; // what borrowers of the subtree have from outside, by key
  spares: Amounts; // what it can lend, by key
}

const MOST_PARTIES = 7; // on a side; further ones are one
const ELSEWHERE = "elsewhere";
const queueKey = (name: string) => `queue ${name}`;
const cohortKey = (name: string) => `cohort ${name}`;
export const sum = (amounts: Iterable<number>) => [...amounts].reduce((total, each) => total + each, 0);

// Whole parts of `total` in proportion to the weights, at most the weights; their sum is `total`.
export function wholeParts(weights: number[], total: number): number[] {
  const whole = sum(weights);
  if (whole === 0) return weights.map(() => 0);
  const exact = weights.map((each) => (each / whole) * total);
  const parts = exact.map(Math.floor);
  const order = exact.map((each, i) => [each - Math.floor(each), i] as const).sort(([a, i], [b, j]) => b - a || i - j);
  let rest = Math.round(total - sum(parts));
  for (const [, i] of order) {
    if (rest <= 0) break;
    parts[i] = (parts[i] ?? 0) + 1;
    --rest;
  }
  return parts;
}

const quotaOf = (row: CohortRow | Queue | null, flavor: string, resource: string) => row?.flavors.find((each) => each.flavor === flavor && each.resource === resource);

function add(amounts: Amounts, key: string, value: number): void {
  if (value > 0) amounts.set(key, (amounts.get(key) ?? 0) + value);
}

// Matches borrowers with lenders of one cohort, in their order, so that flows cross little. Returns whether the amounts
// of single parties are shares.
function settle({ needs, spares }: Open, flows: Flow[]): boolean {
  const moved = Math.min(sum(needs.values()), sum(spares.values()));
  if (moved === 0) return false;
  const isPooled = (spares.size > 1 && (needs.size > 1 || moved < sum(spares.values()))) || (needs.size > 1 && moved < sum(needs.values()));
  const given = (amounts: Amounts) => {
    const parts = wholeParts([...amounts.values()], moved);
    return [...amounts.keys()].map((key, i) => ({ key, left: parts[i] ?? 0 }));
  };
  const takers = given(needs);
  const lenders = given(spares);
  for (const taker of takers) {
    for (const lender of lenders) {
      const part = Math.min(taker.left, lender.left);
      if (part === 0) continue;
      flows.push({ from: lender.key, to: taker.key, amount: part });
      taker.left -= part;
      lender.left -= part;
      for (const [amounts, key] of [[needs, taker.key], [spares, lender.key]] as const) amounts.set(key, (amounts.get(key) ?? 0) - part);
    }
  }
  for (const amounts of [needs, spares]) for (const [key, left] of amounts) if (left <= 0) amounts.delete(key);
  return isPooled;
}

// Settles the cohorts below first. Returns what is left; isPooled: amounts of single parties are shares.
function settleBelow(cohort: Cohort, flavor: string, resource: string, flows: Flow[]): Open & { isPooled: boolean } {
  const open: Open = { needs: new Map(), spares: new Map() };
  let isPooled = false;
  for (const queue of cohort.queues) {
    const quota = quotaOf(queue, flavor, resource);
    if (!quota) continue;
    const used = quota.used ?? 0;
    add(open.needs, queueKey(queue.name), used - quota.nominal);
    add(open.spares, queueKey(queue.name), Math.min(quota.nominal - used, quota.lendingLimit ?? Infinity));
  }
  for (const below of cohort.cohorts.values()) {
    const rest = settleBelow(below, flavor, resource, flows);
    isPooled ||= rest.isPooled;
    for (const [key, value] of rest.needs) add(open.needs, key, value);
    const limit = quotaOf(below.row, flavor, resource)?.lendingLimit ?? Infinity;
    const lends = wholeParts([...rest.spares.values()], Math.min(limit, sum(rest.spares.values())));
    [...rest.spares.keys()].forEach((key, i) => add(open.spares, key, lends[i] ?? 0));
  }
  add(open.spares, cohortKey(cohort.name), quotaOf(cohort.row, flavor, resource)?.nominal ?? 0);
  const isShared = settle(open, flows);
  return { ...open, isPooled: isPooled || isShared };
}

function queuesBelow(cohort: Cohort): Queue[] {
  return [...cohort.queues, ...[...cohort.cohorts.values()].flatMap(queuesBelow)];
}

function partyOf(key: string, moved: number, resource: string, queues: Map<string, Queue>): Party {
  const queue = queues.get(key);
  const uses = queue?.flavors.filter((each) => each.resource === resource) ?? [];
  const name = key === ELSEWHERE ? ELSEWHERE : key.slice(key.indexOf(" ") + 1);
  const kind = queue ? "queue" : key === ELSEWHERE ? "elsewhere" : "cohort";
  return { key, name, kind, moved, used: sum(uses.map((each) => each.used ?? 0)), nominal: sum(uses.map((each) => each.nominal)) };
}

// The parties of one side, those with the greatest amounts; the others are one.
function largest(parties: Party[], key: string): Party[] {
  if (parties.length <= MOST_PARTIES) return parties;
  const kept = new Set([...parties].sort((a, b) => b.moved - a.moved).slice(0, MOST_PARTIES - 1));
  const rest = parties.filter((each) => !kept.has(each));
  const others: Party = { key, name: `${rest.length} others`, kind: "others", moved: sum(rest.map((each) => each.moved)), used: sum(rest.map((each) => each.used)), nominal: sum(rest.map((each) => each.nominal)) };
  return [...parties.filter((each) => kept.has(each)), others];
}

// Flows of the same two parties as one, in the order of both sides.
function merged(flows: Flow[], lenders: Party[], borrowers: Party[]): Flow[] {
  const from = new Map(lenders.map(({ key }, i) => [key, i]));
  const to = new Map(borrowers.map(({ key }, i) => [key, i]));
  const others = (known: Map<string, number>, key: string, rest: string) => (known.has(key) ? key : rest);
  const all = new Map<string, Flow>();
  for (const flow of flows) {
    const each = { from: others(from, flow.from, "other lenders"), to: others(to, flow.to, "other borrowers"), amount: flow.amount };
    const pair = `${each.from}\n${each.to}`;
    const known = all.get(pair);
    if (known) known.amount += each.amount;
    else all.set(pair, each);
  }
  const at = (known: Map<string, number>, key: string) => known.get(key) ?? 0;
  return [...all.values()].sort((a, b) => at(from, a.from) - at(from, b.from) || at(to, a.to) - at(to, b.to));
}

// The flows of each resource that some queue below the cohort borrows. `cohort`: above all others of its tree.
export function flowsOf(cohort: Cohort): Flows[] {
  const all = queuesBelow(cohort);
  const queues = new Map(all.map((queue) => [queueKey(queue.name), queue]));
  const quotas = all.flatMap((queue) => queue.flavors);
  const resources = [...new Map(quotas.map((each) => [each.resource, each.unit]))].sort(([a], [b]) => a.localeCompare(b));
  return resources.flatMap(([resource, unit]): Flows[] => {
    const flows: Flow[] = [];
    let isShared = false;
    for (const flavor of new Set(quotas.filter((each) => each.resource === resource).map((each) => each.flavor))) {
      const rest = settleBelow(cohort, flavor, resource, flows);
      isShared ||= rest.isPooled;
      for (const [key, amount] of rest.needs) flows.push({ from: ELSEWHERE, to: key, amount });
    }
    if (flows.length === 0) return [];
    const side = (end: "from" | "to") => {
      const moved = new Map<string, number>();
      for (const flow of flows) add(moved, flow[end], flow.amount);
      return [...moved].map(([key, value]) => partyOf(key, value, resource, queues));
    };
    const lenders = largest(side("from"), "other lenders");
    const borrowers = largest(side("to"), "other borrowers");
    return [{ resource, unit, lenders, borrowers, flows: merged(flows, lenders, borrowers), isShared }];
  });
}

export function lenderName({ kind, name }: Party): string {
  return kind === "cohort" ? `quota of cohort ${name}` : name;
}

// "uses 2 of 8"; empty: it is no queue.
export function useWords({ kind, used, nominal }: Party, unit: string): string {
  if (kind === "cohort" || kind === "elsewhere") return "";
  return isInfinite(nominal, unit) ? `uses ${amount(used, unit)}` : `uses ${amount(used, unit)} of ${amount(nominal, unit)}`;
}

// A sentence for each borrower: "nlp borrows 7 nvidia.com/gpu: 5 from speech, 2 from vision."
export function sentencesOf({ resource, unit, lenders, borrowers, flows }: Flows): string[] {
  const names = new Map(lenders.map((each) => [each.key, lenderName(each)]));
  return borrowers.map((borrower) => {
    const parts = flows.filter((flow) => flow.to === borrower.key).map((flow) => `${amount(flow.amount, unit)} from ${names.get(flow.from) ?? ""}`);
    return `${borrower.name} borrows ${amount(borrower.moved, unit)} ${resource}: ${parts.join(", ")}.`;
  });
}
