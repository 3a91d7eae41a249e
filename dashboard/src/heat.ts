// The hours of a day as a row of a heat map: which part of the requests made in each hour was granted.
import type { HourCounts } from "./berth_read_api";

export interface HeatCell {
  hour: number; // of the reader's day
  asked: number;
  provisioned: number;
  stockouts: number;
  share: number | null; // of the requests, those that were granted; null: none was made
}

const HOURS = 24;

// `offset`: minutes that the reader's zone is behind UTC, as getTimezoneOffset gives them. A zone of half hours counts an
// hour of UTC in the hour in which this hour begins.
export function cellsOf(hours: HourCounts[], offset: number): HeatCell[] {
  const shift = Math.floor(-offset / 60);
  return hours.map((_, hour) => {
    const { asked = 0, provisioned = 0, stockouts = 0 } = hours[(((hour - shift) % HOURS) + HOURS) % HOURS] ?? {};
    return { hour, asked, provisioned, stockouts, share: asked === 0 ? null : provisioned / asked };
  });
}
