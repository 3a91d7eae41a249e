// Requests for capacity on one time line: how long each waited for its answer, and how long it has had its nodes.
import type { Capacityrequests } from "./berth_read_api";

export type RequestPhase = "waits" | "holds";
export interface RequestSpan {
  phase: RequestPhase;
  from: number; // percent of the line
  to: number;
  isOpen: boolean; // it goes on
}
export interface RequestLine {
  spans: RequestSpan[];
  failedAt: number | null; // percent
  beganBefore: boolean; // the line shows its end alone
}

const GRANTED = new Set(["Provisioned", "BookingExpired"]);
const WAITING = new Set(["Pending", "Accepted"]);
const MOST_OF_LINE = 50; // rows that decide how far back the line goes
const LEAST_MS = 60_000;

// The beginning of the line: the earliest creation of the first rows, in milliseconds.
export function lineStart(rows: Capacityrequests[], now: number): number {
  const created = rows.slice(0, MOST_OF_LINE).map((row) => Date.parse(row.createdAt ?? "")).filter(Number.isFinite);
  return Math.min(now - LEAST_MS, ...created);
}

export function requestLine(row: Capacityrequests, from: number, now: number): RequestLine {
  const created = Date.parse(row.createdAt ?? "");
  const at = (time: number) => Math.max(0, Math.min(100, (100 * (time - from)) / (now - from)));
  if (!Number.isFinite(created)) return { spans: [], failedAt: null, beganBefore: false };
  const state = row.state ?? "";
  const waits = WAITING.has(state);
  const since = Date.parse(row.stateSince ?? "");
  const answered = waits || !Number.isFinite(since) ? now : Math.max(created, since);
  const spans: RequestSpan[] = [{ phase: "waits", from: at(created), to: at(answered), isOpen: waits }];
  if (GRANTED.has(state)) spans.push({ phase: "holds", from: at(answered), to: 100, isOpen: true });
  const isFailed = !waits && !GRANTED.has(state);
  return { spans, failedAt: isFailed ? at(answered) : null, beganBefore: created < from };
}
