// Data of charts: sums of stacked lines, times in order, and lines thinned for a table.

export interface Line {
  label: string;
  values: (number | null)[];
  text: (value: number) => string;
}

export const sumOf = (line: Line) => line.values.reduce<number>((total, value) => total + (value ?? 0), 0);

// Instants in seconds, and the indices of those that are none left out.
export function secondsOf(instants: string[]): { seconds: number[]; kept: number[] } {
  const seconds: number[] = [];
  const kept: number[] = [];
  instants.forEach((instant, i) => {
    const at = Date.parse(instant) / 1000;
    if (Number.isNaN(at) || at <= (seconds.at(-1) ?? -Infinity)) return;
    seconds.push(at);
    kept.push(i);
  });
  return { seconds, kept };
}

// Each line on top of those after it: the first is the sum of all. Where no line has a value, none has a sum. `isPart`:
// lines for which it is false stand by themselves.
export function stacked(lines: (number | null)[][], isPart: boolean[] = []): (number | null)[][] {
  const sums: (number | null)[][] = [];
  let below: (number | null)[] = [];
  for (let i = lines.length - 1; i >= 0; --i) {
    const own = lines[i] ?? [];
    if (isPart[i] === false) {
      sums.unshift(own);
      continue;
    }
    const base = below;
    below = own.map((value, at) => (value === null && (base[at] ?? null) === null ? null : (value ?? 0) + (base[at] ?? 0)));
    sums.unshift(below);
  }
  return sums;
}

// At most `most` of the indices, the last one among them.
export function thinned(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most));
  const indices: number[] = [];
  for (let i = count - 1; i >= 0; i -= step) indices.unshift(i);
  return indices;
}

// The last value of a line within a time; null: none.
export function lastIn(times: number[], values: (number | null)[], to: number): number | null {
  for (let i = times.length - 1; i >= 0; --i) {
    const value = values[i] ?? null;
    if ((times[i] ?? Infinity) <= to && value !== null) return value;
  }
  return null;
}
