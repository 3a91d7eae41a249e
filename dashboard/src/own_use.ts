// What a queue used of its own quota, and what it borrowed beyond it.

export interface OwnUse {
  own: (number | null)[];
  borrowed: (number | null)[];
}

// Without a known quota nothing counts as borrowed.
export function ownUse(used: (number | null)[], quotas: (number | null)[]): OwnUse {
  const quotaAt = (i: number) => quotas[i] ?? Infinity;
  return {
    own: used.map((value, i) => (value === null ? null : Math.min(value, quotaAt(i)))),
    borrowed: used.map((value, i) => (value === null ? null : Math.max(0, value - quotaAt(i)))),
  };
}
