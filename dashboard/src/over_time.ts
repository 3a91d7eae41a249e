// What a report over time can show, and the lines of one of these measures.
import { columnsOf, GPUS, isGpuResource, money } from "./accounts";
import type { ReportHistory, ReportPart } from "./berth_read_api";
import { sumOf, type Line } from "./chart_data";
import { rounded } from "./format";

const LEAST_DRAWN = 8;

export interface Measure {
  key: string; // in the address
  name: string;
  of: (part: ReportPart) => number;
  text: (value: number) => string;
}

export function hours(value: number): string {
  return rounded(value, value < 10 ? 2 : 0);
}

export const resourceWord = (resource: string) => (resource === GPUS || isGpuResource(resource) ? "GPU" : resource === "cpu" ? "CPU" : resource);

// GPUs first, then processors, then others by name.
function byImportance(a: string, b: string): number {
  const rank = (resource: string) => (resource === GPUS ? 0 : isGpuResource(resource) ? 1 : resource === "cpu" ? 2 : 3);
  return rank(a) - rank(b) || a.localeCompare(b);
}

// The measures for which some part has a value, the most important first.
export function measuresOf(history: ReportHistory): Measure[] {
  const parts = [...history.lines.flatMap((line) => line.parts), ...history.others];
  const resources = columnsOf(parts).resources.sort(byImportance);
  const all: Measure[] = [
    ...resources.map((resource): Measure => ({ key: `used ${resource}`, name: `${resourceWord(resource)} hours used`, of: (part) => part.usedHours[resource] ?? 0, text: hours })),
    ...resources.map((resource): Measure => ({ key: `destroyed ${resource}`, name: `${resourceWord(resource)} hours destroyed`, of: (part) => part.destroyedHours[resource] ?? 0, text: hours })),
    { key: "waited", name: "hours waited", of: (part) => part.waitedHours, text: hours },
    { key: "nodes", name: "node hours charged", of: (part) => part.chargedHours["nodes"] ?? 0, text: hours },
    { key: "cost", name: "USD", of: (part) => part.costUsd, text: money },
  ];
  return all.filter((measure) => parts.some((part) => measure.of(part) > 0));
}

// The first part that is drawn: the parts before the first value say nothing. Some parts are always drawn.
export function firstDrawn(lines: Line[]): number {
  const parts = lines[0]?.values.length ?? 0;
  const first = Array.from({ length: parts }, (_, i) => i).find((i) => lines.some((line) => (line.values[i] ?? 0) > 0)) ?? 0;
  return Math.max(0, Math.min(first, parts - LEAST_DRAWN));
}

// The lines of the measure that have a value, the largest first; the others of the report are one.
export function linesOf(history: ReportHistory, measure: Measure): Line[] {
  const valued = history.lines
    .map((line): Line => ({ label: line.key || "none", values: line.parts.map(measure.of), text: measure.text }))
    .filter((line) => sumOf(line) > 0)
    .sort((a, b) => sumOf(b) - sumOf(a));
  const others: Line = { label: `${history.otherLines} others`, values: history.others.map(measure.of), text: measure.text };
  return sumOf(others) > 0 ? [...valued, others] : valued;
}
