// The columns of a report: which resources have hours, and whether nodes were charged and priced.
import type { ReportLine } from "./api";

export const GPUS = "berth.dev/gpus"; // whole GPUs, in millionths
export const GPU_PARTS = 1_000_000;

// What a device plugin gives out as GPUs or shares of them: api/gpu_shares.h has the same rule.
export function isGpuResource(resource: string): boolean {
  return resource !== GPUS && /\/(gpu$|gpu\.|mig-)/.test(resource);
}

export interface Columns {
  resources: string[]; // with hours used and destroyed
  isCharged: boolean;
  isPriced: boolean;
}

// Where every line with a GPU counts whole GPUs, shares of them are left out.
export function columnsOf(lines: Pick<ReportLine, "usedHours" | "chargedHours" | "costUsd">[]): Columns {
  const all = [...new Set(lines.flatMap((line) => Object.keys(line.usedHours)))].sort();
  const countsGpus = lines.every((line) => GPUS in line.usedHours || !Object.keys(line.usedHours).some(isGpuResource));
  return {
    resources: all.filter((resource) => !countsGpus || !isGpuResource(resource)),
    isCharged: lines.some((line) => Object.keys(line.chargedHours).length > 0),
    isPriced: lines.some((line) => line.costUsd > 0),
  };
}

// Of more than `most` lines, those that used most of the resource, the most first.
export function mostUsed<L extends Pick<ReportLine, "usedHours">>(lines: L[], resource: string | undefined, most: number): L[] {
  if (lines.length <= most) return lines;
  const used = (line: L) => (resource === undefined ? 0 : (line.usedHours[resource] ?? 0));
  return [...lines].sort((a, b) => used(b) - used(a)).slice(0, most);
}

const CENTS = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export function money(usd: number): string {
  return CENTS.format(usd);
}

// "12.35"; "12.35 + 2 without a price".
export function costText(line: ReportLine): string {
  const cost = money(line.costUsd);
  return line.unpriced > 0 ? `${cost} + ${line.unpriced} without a price` : cost;
}
