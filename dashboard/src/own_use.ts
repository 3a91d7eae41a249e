// What a queue used of its own quota, and what it borrowed beyond it, by the quota of today.

export interface OwnUse {
  own: (number | null)[];
  borrowed: (number | null)[];
}

export function ownUse(used: (number | null)[], quota: number): OwnUse {
  return {
    own: used.map((value) => (value === null ? null : Math.min(value, quota))),
    borrowed: used.map((value) => (value === null ? null : Math.max(0, value - quota))),
  };
}
