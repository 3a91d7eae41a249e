// Quotas as sliders and as texts of the API.
import type { Quota } from "./berth_read_api";

const MILLI = 1000;
const STEPS = 20;

// The quota as the API writes it.
export function quotaText(value: number, unit: string): string {
  return unit === "milliCPU" && value % MILLI !== 0 ? `${value}m` : String(unit === "milliCPU" ? value / MILLI : value);
}

// Ends and step of the slider: from nothing to twice as much, at least eight units.
export function slider(quota: Quota): { most: number; step: number } {
  const unit = quota.unit === "milliCPU" ? MILLI : quota.unit === "bytes" ? 2 ** 30 : 1;
  const most = Math.max(2 * quota.nominal, 8 * unit);
  const step = Math.max(unit, Math.floor(most / STEPS / unit) * unit);
  return { most: Math.ceil(most / step) * step, step: quota.nominal % step === 0 ? step : unit };
}
