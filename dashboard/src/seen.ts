// What the page has seen, kept by the browser: numbers of workloads by state and cause, and the use of the main
// resource. Samples are thinned as they age and end after a day. There are no names in them but those of causes.

export interface Sample {
  at: number; // seconds
  waiting: number;
  reserved: number;
  running: number;
  causes: Record<string, number>;
  used: number;
  quota: number | null; // null: without a limit
  nodes?: number | null; // of the main resource on ready nodes; null or absent: not known
}

const DAY_S = 24 * 3_600;
// How far apart samples of an age may be: seconds, in the order of ages.
const STEPS = [
  { age: 900, step: 5 },
  { age: 3 * 3_600, step: 60 },
  { age: DAY_S, step: 300 },
];
const GAP_FACTOR = 4;

export function stepAt(age: number): number {
  return STEPS.find((each) => age <= each.age)?.step ?? Infinity;
}

// The samples with one more: those that stand too close for their age, or are too old, are left out.
export function withSample(samples: Sample[], sample: Sample): Sample[] {
  const kept: Sample[] = [];
  for (const each of [...samples, sample]) {
    const age = sample.at - each.at;
    if (age < 0 || age > DAY_S) continue;
    const before = kept.at(-1);
    if (before && each !== sample && each.at - before.at < 0.9 * stepAt(age)) continue;
    kept.push(each);
  }
  return kept;
}

// Samples as lines, with an empty one where nobody looked for a while.
export function withGaps(samples: Sample[], now: number): (Sample | { at: number })[] {
  const all: (Sample | { at: number })[] = [];
  for (const [i, each] of samples.entries()) {
    const before = samples[i - 1];
    if (before && each.at - before.at > GAP_FACTOR * Math.max(30, stepAt(now - before.at))) all.push({ at: before.at + 1 });
    all.push(each);
  }
  return all;
}

function isSample(value: unknown): value is Sample {
  const each = value as Sample | null;
  return (
    typeof each === "object" &&
    each !== null &&
    [each.at, each.waiting, each.reserved, each.running, each.used].every(Number.isFinite) &&
    typeof each.causes === "object" &&
    each.causes !== null &&
    Object.values(each.causes).every(Number.isFinite)
  );
}

// Samples of a text that the browser kept; what is none is left out.
export function samplesOf(text: string): Sample[] {
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? values.filter(isSample) : [];
  } catch {
    return [];
  }
}
