// What the search finds, in its order: views, queues and nodes by a part of their name, jobs as the server found them.

export interface Hit {
  kind: "view" | "queue" | "job" | "node";
  name: string;
  note: string;
  to: string;
}

const MOST_OF_A_KIND = 6;

// Those whose name has the text, its beginning before its middle, the shorter name first.
export function named<T extends { name: string }>(all: T[], text: string, most = MOST_OF_A_KIND): T[] {
  const wanted = text.toLowerCase();
  const ranked = all.map((each) => ({ each, at: each.name.toLowerCase().indexOf(wanted) })).filter(({ at }) => at >= 0);
  return ranked
    .sort((a, b) => Number(a.at > 0) - Number(b.at > 0) || a.each.name.length - b.each.name.length || a.each.name.localeCompare(b.each.name))
    .slice(0, most)
    .map(({ each }) => each);
}

// What was typed as a filter of jobs: "team-a/train" is the beginning of a name in a namespace.
export function jobFilter(text: string): { name: string; namespace?: string } {
  const slash = text.indexOf("/");
  return slash > 0 ? { namespace: text.slice(0, slash), name: text.slice(slash + 1) } : { name: text };
}
