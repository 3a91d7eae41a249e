// What somebody should look at, found in rows and answers.
import type { Capacity, CapacityRequest } from "./api";

const UNANSWERED_MS = 120_000;

export interface Unserved {
  class: string;
  count: number;
  since: string;
}

// Classes with requests that nobody has answered for two minutes, those with the most first.
export function unservedOf(pending: CapacityRequest[], now: number): Unserved[] {
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
