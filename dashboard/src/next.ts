// Which workloads start next, by the median of their forecasts.
import type { Forecast } from "./berth_read_api";

export function startsOf<T extends { eta: Forecast | null }>(rows: T[], most: number): T[] {
  const at = (row: T) => Date.parse(row.eta?.p50 ?? "");
  return rows
    .filter((row) => !Number.isNaN(at(row)))
    .sort((a, b) => at(a) - at(b))
    .slice(0, most);
}
