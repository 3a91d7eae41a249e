// The lines of a pool's nodes over time: by samples of the nodes where there are some, else by the time for which nodes
// stood for jobs.
import type { PoolLine, PoolPart } from "./berth_read_api";
import type { ChartLine } from "./chart";
import { money } from "./accounts";
import { rounded } from "./format";

export const means = (value: number) => rounded(value, 1);

const line = (label: string, parts: PoolPart[], of: (part: PoolPart) => number | null, more: Partial<ChartLine> = {}): ChartLine => ({ label, values: parts.map(of), text: means, ...more });

export function poolLines({ parts }: PoolLine): ChartLine[] {
  const hasStood = parts.some((part) => part.standing > 0);
  if (!parts.some((part) => part.ready !== null)) return [line("standing for jobs", parts, (part) => part.standing)];
  const idleKnown = parts.some((part) => part.idle !== null);
  const ready = idleKnown
    ? [line("in use", parts, (part) => (part.ready === null || part.idle === null ? null : part.ready - part.idle)), line("idle", parts, (part) => part.idle)]
    : [line("ready", parts, (part) => part.ready)];
  const stood = hasStood ? [line("standing for jobs", parts, (part) => part.standing, { look: "dashes" })] : [];
  return [...ready, line("booting", parts, (part) => part.booting), ...stood];
}

// What the nodes that stood for jobs cost in all parts; empty: nothing.
export function poolCost({ parts }: PoolLine): string {
  const cost = parts.reduce((sum, part) => sum + part.costUsd, 0);
  return cost > 0 ? `${money(cost)} USD` : "";
}
