// What somebody should look at, found in rows and answers.
import type { Capacity, CapacityRequest } from "./api";

const UNANSWERED_MS = 120_000;

export interface Unserved {
  class: string;
  count: number;
  since: string;
}

// Classes with requests that nobody has answered for two minutes, those with the most first.
export function unservedOf(pending: Pick<CapacityRequest, "class" | "createdAt">[], now: number): Unserved[] {
  const by = new Map<string, Unserved>();
  for (const row of pending) {
    if (now - Date.parse(row.createdAt) < UNANSWERED_MS) continue;
    const known = by.get(row.class);
    if (!known) by.set(row.class, { class: row.class, count: 1, since: row.createdAt });
    else {
      known.count += 1;
      if (row.createdAt < known.since) known.since = row.createdAt;
    }
  }
  return [...by.values()].sort((a, b) => b.count - a.count || a.class.localeCompare(b.class));
}

export interface Resting {
  class: string;
  until: string;
  reason: string;
}

// Classes that rest after stock-outs, each with its latest end.
export function restingOf(stock: Capacity["stock"], now: number): Resting[] {
  const by = new Map<string, Resting>();
  for (const { class: name, restsUntil, reason } of stock) {
    if (restsUntil === null || Date.parse(restsUntil) <= now) continue;
    const known = by.get(name);
    if (!known || known.until < restsUntil) by.set(name, { class: name, until: restsUntil, reason: reason ?? "" });
  }
  return [...by.values()];
}

export type Severity = "bad" | "warn";

// What somebody should look at, with what to do about it.
export type Alert = { key: string; severity: Severity; remedy: string } & (
  | { kind: "inactive"; queue: string; reason: string }
  | { kind: "unserved"; class: string; count: number; since: string }
  | { kind: "resting"; class: string; until: string; reason: string }
  | { kind: "stopped"; queue: string; policy: string; waiting: number }
  | { kind: "misconfigured"; count: number }
  | { kind: "never"; count: number }
  | { kind: "failed"; count: number }
  | { kind: "long"; workload: string; name: string; since: string }
);

interface Seen {
  queues: { name: string; inactive: string; stopPolicy: string; waiting: number }[];
  unanswered: Pick<CapacityRequest, "class" | "createdAt">[];
  stock: Capacity["stock"];
  misconfigured: number;
  tooLarge: number;
  failed: number; // requests for capacity
  oldest: { id: string; namespace: string; name: string; waitingSince: string | null }[]; // the longest wait first
}

const MOST_OF_A_KIND = 5;
const LONG_WAIT_MS = 24 * 3_600_000;

// The worst first.
export function alertsOf({ queues, unanswered, stock, misconfigured, tooLarge, failed, oldest }: Seen, now: number): Alert[] {
  const alerts: Alert[] = [];
  for (const { name, inactive } of queues.filter((queue) => queue.inactive !== "").slice(0, MOST_OF_A_KIND)) {
    alerts.push({ key: `inactive ${name}`, severity: "bad", kind: "inactive", queue: name, reason: inactive, remedy: "Create what it names, or take it out of the ClusterQueue." });
  }
  if (misconfigured > 0) {
    alerts.push({ key: "misconfigured", severity: "bad", kind: "misconfigured", count: misconfigured, remedy: "Each one's page says which object to change." });
  }
  if (tooLarge > 0) {
    const remedy = "Ask for less, or raise the quota or the borrowing limit of the queue: each one's page has the figures.";
    alerts.push({ key: "never", severity: "bad", kind: "never", count: tooLarge, remedy });
  }
  for (const each of unservedOf(unanswered, now).slice(0, MOST_OF_A_KIND)) {
    const remedy = "Start the controller of this class, or name another class in the ProvisioningRequestConfig.";
    alerts.push({ key: `unserved ${each.class}`, severity: "bad", kind: "unserved", ...each, remedy });
  }
  if (failed > 0) {
    alerts.push({ key: "failed", severity: "warn", kind: "failed", count: failed, remedy: "Read the cloud's answers; a retry follows by itself where the check allows one." });
  }
  for (const each of restingOf(stock, now).slice(0, MOST_OF_A_KIND)) {
    alerts.push({ key: `resting ${each.class}`, severity: "warn", kind: "resting", ...each, remedy: "Nothing to do: other flavors are tried meanwhile. A flavor more gives more chances." });
  }
  for (const queue of queues.filter((each) => each.stopPolicy !== "None" && each.waiting > 0).slice(0, MOST_OF_A_KIND)) {
    alerts.push({ key: `stopped ${queue.name}`, severity: "warn", kind: "stopped", queue: queue.name, policy: queue.stopPolicy, waiting: queue.waiting, remedy: "Resume it on its page when the reason for the stop is gone." });
  }
  const [longest] = oldest;
  const since = longest?.waitingSince ?? null;
  if (longest && since !== null && now - Date.parse(since) > LONG_WAIT_MS) {
    const remedy = "Its page says what would start it.";
    alerts.push({ key: "long", severity: "warn", kind: "long", workload: longest.id, name: `${longest.namespace}/${longest.name}`, since, remedy });
  }
  return alerts;
}
