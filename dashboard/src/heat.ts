// The hours of a day as a row of a heat map: which part of the requests of each hour that have an answer was granted.
import type { HourCounts } from "./berth_read_api";

export interface HeatCell {
  hour: number; // of the reader's day
  answered: number;
  provisioned: number;
  stockouts: number;
  share: number | null; // of the requests with an answer, those that were granted; null: none has one
}

const HOURS = 24;

// `offset`: minutes that the reader's zone is behind UTC, as getTimezoneOffset gives them. A zone of half hours counts an
// hour of UTC in the hour in which this hour begins.
export function cellsOf(hours: HourCounts[], offset: number): HeatCell[] {
  const shift = Math.floor(-offset / 60);
  return hours.map((_, hour) => {
    const { answered = 0, provisioned = 0, stockouts = 0 } = hours[(((hour - shift) % HOURS) + HOURS) % HOURS] ?? {};
    return { hour, answered, provisioned, stockouts, share: answered === 0 ? null : provisioned / answered };
  });
}
