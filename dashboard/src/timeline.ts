// The turns of a workload as spans of time: what it did when, and what is foretold.
import type { Forecast, WorkloadHistory } from "./berth_read_api";
import { turnsOf } from "./turns";

export type Phase = "queued" | "reserved" | "asked" | "booting" | "starting" | "running";

export interface Span {
  phase: Phase;
  from: number; // milliseconds
  to: number;
  isOpen: boolean; // it goes on
}
export interface TurnSpans {
  number: number;
  spans: Span[];
  end: { at: number; how: string; preemptor: string; isGood: boolean } | null;
}
export interface Timeline {
  from: number;
  to: number;
  turns: TurnSpans[];
  forecast: { p10: number; p50: number; p90: number } | null;
}

const time = (instant: string | null) => (instant === null ? NaN : Date.parse(instant));

// Phases begin in this order; one that has no instant is left out.
function spansOf(begins: [Phase, number][], end: number, isOver: boolean): Span[] {
  const known = begins.filter(([, at]) => Number.isFinite(at));
  return known.flatMap(([phase, from], i) => {
    const next = known[i + 1]?.[1];
    const to = Math.max(from, next ?? end);
    return to > from || next === undefined ? [{ phase, from, to, isOpen: next === undefined && !isOver }] : [];
  });
}

const MOST_TURNS = 12; // the latest
const LEAST_MS = 1_000;

function forecastOf(eta: Forecast | null, now: number): Timeline["forecast"] {
  const [p10, p50, p90] = [time(eta?.p10 ?? null), time(eta?.p50 ?? null), time(eta?.p90 ?? null)];
  if (!Number.isFinite(p10) || !Number.isFinite(p50) || p50 < now) return null;
  return { p10: Math.max(now, p10), p50, p90: Number.isFinite(p90) ? p90 : p50 };
}

// Null: there is no turn. `waits`: whether it waits now, so that a forecast is one.
export function timelineOf(history: WorkloadHistory, eta: Forecast | null, now: number, waits: boolean): Timeline | null {
  const all = turnsOf(history).slice(-MOST_TURNS);
  let before = -Infinity; // the end of the turn before: a turn may keep its first place in the queue
  const turns = all.flatMap(({ turn, asked, provisioned, how }): TurnSpans[] => {
    const ended = time(turn.ended);
    const isOver = Number.isFinite(ended);
    const end = isOver ? ended : now;
    if (!Number.isFinite(time(turn.queued))) return [];
    const begins: [Phase, number][] = [
      ["queued", Math.max(time(turn.queued), before)],
      ["reserved", time(turn.quotaReserved)],
      ["asked", Math.max(time(turn.quotaReserved), time(asked))],
      ["booting", Math.max(time(turn.quotaReserved), time(provisioned))],
      ["starting", time(turn.admitted)],
      ["running", time(turn.podsReady)],
    ];
    before = end;
    const isGood = turn.outcome === "Succeeded" || turn.outcome === "Finished";
    return [{ number: turn.attempt, spans: spansOf(begins, end, isOver), end: isOver ? { at: ended, how, preemptor: turn.preemptor, isGood } : null }];
  });
  const first = turns[0]?.spans[0];
  if (!first) return null;
  const last = Math.max(...turns.flatMap((turn) => turn.spans.map((span) => span.to)));
  const forecast = waits ? forecastOf(eta, now) : null;
  const isOpen = turns.some((turn) => turn.end === null);
  const to = Math.max(last, isOpen ? now : last, forecast ? forecast.p50 + (Math.min(forecast.p90, forecast.p50 + 4 * (forecast.p50 - first.from)) - forecast.p50) : 0, first.from + LEAST_MS);
  return { from: first.from, to, turns, forecast };
}

const TICKS_S = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400, 30 * 86_400];
const MOST_TICKS = 7;

// Whole instants of the zone between the ends, in milliseconds. `offset`: of the zone, in minutes.
export function ticksOf(from: number, to: number, offset: number): number[] {
  const step = 1000 * (TICKS_S.find((each) => (to - from) / 1000 / each <= MOST_TICKS) ?? 90 * 86_400);
  const shift = offset * 60_000;
  const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) ticks.push(at);
  return ticks;
}
