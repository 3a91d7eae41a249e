// Causes and messages in words that a person understands. What the server says is kept as the tip.

interface Cause {
  label: string;
  means: string; // one sentence
  color: string;
}

const CAUSES: Record<string, Cause> = {
  quota: { label: "quota in use", means: "The quota of the queue, with what it may borrow, is in use by others.", color: "--c1" },
  "too large": { label: "asks for too much", means: "It asks for more than its queue can ever get.", color: "--bad" },
  capacity: { label: "capacity asked for", means: "Quota is reserved; machines were asked for and have not come yet.", color: "--c2" },
  preempting: { label: "room being made", means: "Workloads that give way to it are being stopped.", color: "--c4" },
  topology: { label: "no room in one place", means: "There is room, but not in one rack or block as the job asks.", color: "--c3" },
  flavor: { label: "no machine fits", means: "No flavor of the queue fits what the job asks: its nodes, taints or resources.", color: "--c5" },
  misconfigured: { label: "needs a correction", means: "It cannot run until somebody changes an object.", color: "--bad" },
  stopped: { label: "queue stopped", means: "Its queue is stopped.", color: "--c8" },
  held: { label: "on hold", means: "It is held back, and waits to be let go.", color: "--c8" },
  gated: { label: "gated", means: "A gate holds it back until another controller opens it.", color: "--c8" },
  "pods not ready": { label: "others are starting", means: "Workloads before it have not started all their pods yet.", color: "--c6" },
  queued: { label: "its turn has not come", means: "Others in its queue go first, or the scheduler's next round will look at it.", color: "--c7" },
  waiting: { label: "waiting", means: "It waits for its turn.", color: "--c7" },
  backoff: { label: "tried again soon", means: "An attempt failed; it is tried again after a pause.", color: "--c6" },
  stopping: { label: "being stopped", means: "It was preempted or evicted; its pods are ending.", color: "--stopping" },
  admitting: { label: "about to start", means: "Quota is reserved and every check is ready.", color: "--c7" },
};

const CHECK = "check ";

export function causeLabel(cause: string): string {
  return cause.startsWith(CHECK) ? `admission check ${cause.slice(CHECK.length)}` : (CAUSES[cause]?.label ?? cause);
}

export function causeMeaning(cause: string): string {
  return cause.startsWith(CHECK) ? `Quota is reserved; the admission check ${cause.slice(CHECK.length)} has not agreed yet.` : (CAUSES[cause]?.means ?? "");
}

export function causeColor(cause: string): string {
  return CAUSES[cause]?.color ?? "--c8";
}

// Texts of the server that name its workings, and what they mean for the reader.
const MESSAGES: [RegExp, string][] = [
  [/bypassed scheduling evaluation because an equivalent workload recently failed/i, "it waits behind a workload that asks for the same and found no quota"],
  [/preempted to accommodate a workload \(UID: [^)]*\) due to (.+?); preemptor path: \S+; preemptee path: \S+/i, "it gave way to another workload, due to $1"],
  [/ \((withinClusterQueue|reclaimWithinCohort|borrowWithinCohort)[^)]*\)/g, ""],
  [/evicted due to AdmissionCheck in Retry state: "([^"]+)"/gi, "admission check $1 asked for a retry"],
  [/max node ?pool size reached/i, "The pool has its greatest size."],
  [/\bnot looked at yet\b/i, "workloads before it in the queue go first"],
  [/couldn't assign flavors to pod set ([\w-]+): flavor "([^"]+)" does not support TopologyAwareScheduling/i, "pod set $1 must be in one place of a topology, and flavor $2 has no topology"],
  [/couldn't assign flavors to pod set ([\w-]+): /i, "no flavor for pod set $1: "],
  [/insufficient unused quota for (\S+) in flavor ([^,]+), (\S+) more needed/gi, "$1 in flavor $2: $3 more needed than is free"],
  [/insufficient quota for (\S+) in flavor ([^,]+), /gi, "not enough quota for $1 in flavor $2: "],
  [/^quota is reserved, every check is ready$/i, "about to start: quota is reserved and every check is ready"],
  [/waiting for resources\. currently there are not enough resources available to fulfill the request\./i, "Not enough machines are available now; the request keeps its place."],
  [/needs (\S+), (\S+) free of ([^\s;]+)/gi, "needs $1, free now: $2 (own quota $3)"],
  [/ \(never more than (\S+) in this queue\)/gi, ", and never more than $1"],
];

export function plain(message: string): string {
  return MESSAGES.reduce((text, [told, meant]) => text.replace(told, meant), message);
}

// A reason of a condition as words: "WaitingForQuota" becomes "waiting for quota".
export function reasonWord(reason: string): string {
  return reason.replaceAll(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`).replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase());
}

// How a turn ended: "Preempted: InCohortReclamation".
const ENDS: Record<string, string> = {
  InClusterQueue: "for one of higher priority in its queue",
  InCohortReclamation: "its cohort took back what it had borrowed",
  InCohortFairSharing: "for a fair share of its cohort",
  InCohortReclaimWhileBorrowing: "for one of higher priority in its cohort",
  TimeSliceExpired: "its time slice was over",
};

export function howWord(how: string): string {
  const [outcome = "", ...reason] = how.split(": ");
  return [reasonWord(outcome), ...reason.map((each) => ENDS[each] ?? reasonWord(each))].join(": ");
}

// What a queue may preempt, as words: "withinClusterQueue: LowerPriority, reclaimWithinCohort: Any".
const POLICIES: Record<string, string> = {
  "withinClusterQueue: Never": "nothing in its own queue",
  "withinClusterQueue: LowerPriority": "those of lower priority in its own queue",
  "withinClusterQueue: LowerOrNewerEqualPriority": "those of lower priority, or of the same and newer, in its own queue",
  "reclaimWithinCohort: Never": "nothing of its cohort",
  "reclaimWithinCohort: LowerPriority": "in its cohort those of lower priority that borrow",
  "reclaimWithinCohort: Any": "in its cohort all that borrow",
};

export function policyWords(policy: string): string {
  return `It may preempt: ${policy.split(", ").map((each) => POLICIES[each] ?? each).join("; ")}.`;
}

interface Tried {
  resource: string;
  flavor: string;
  needs: string;
  free: string;
  limit: string;
}

const TRIED = /^(\S+) in flavor (.+?): needs (\S+), (\S+) free(?: of \S+)?(?: \((.*)\))?$/;

// What was tried for one amount of one resource; null: the message says something else.
function triedOf(message: string): Tried[] | null {
  const all: Tried[] = [];
  for (const part of message.split("; ")) {
    const [, resource, flavor, needs, free, limit] = TRIED.exec(part) ?? [];
    if (!resource || !flavor || !needs || !free || resource !== (all[0]?.resource ?? resource) || needs !== (all[0]?.needs ?? needs)) return null;
    all.push({ resource, flavor, needs, free, limit: limit ?? "" });
  }
  return all;
}

const NEVER = /^never more than (\S+) in this queue$/;

// The most that its queue can ever give to a workload that asks for more than that; null: it is none.
function neverMore(message: string): string | null {
  const most = triedOf(message)?.map((each) => NEVER.exec(each.limit)?.[1] ?? null) ?? [];
  return most.length > 0 && most.every((each) => each !== null) ? (most[0] ?? null) : null;
}

// A line of the server, the cause before it left out: one sentence of all flavors that were tried for the same amount.
export function lineOf(line: string): string {
  return told(line.replace(/^(?:quota|too large): (?=\S+ in flavor )/, ""));
}

function told(message: string): string {
  const all = triedOf(message);
  const first = all?.[0];
  if (!all || !first) return plain(message);
  const most = neverMore(message);
  if (most !== null) return `needs ${first.needs} ${first.resource}, and the queue can never give more than ${most}`;
  const limits = [...new Set(all.map((each) => each.limit))].filter(Boolean);
  const reason = limits.length === 1 && limits[0] ? ` (${plain(limits[0])})` : "";
  return `needs ${first.needs} ${first.resource}; free: ${all.map((each) => `${each.free} in ${each.flavor}`).join(", ")}${reason}`;
}

interface Remarked {
  state: string;
  cause: string;
  remark: string;
}

const FLAVORS = /^[^\s:,;]+$/;
// Flavors and nodes: "a100: node-3, node-5 and 2 more; 1 pod starting".
const ON_NODES = /^([^\s:,;]+): ([a-z0-9.-]+(?:, [a-z0-9.-]+)*(?: and \d+ more)?)((?:; .*)?)$/;

function placeOf(remark: string): string {
  if (FLAVORS.test(remark)) return `on flavor ${remark}`;
  const [, flavors, nodes, rest] = ON_NODES.exec(remark) ?? [];
  return flavors && nodes ? `${flavors} on ${nodes.replace(/, ([^,\s]+)$/, " and $1")}${plain(rest ?? "")}` : plain(remark);
}

// The remark without the cause before it, which stands beside it; a place is named as one.
export function remarkOf({ state, cause, remark }: Remarked): string {
  if (state === "running" || state === "stopping") return placeOf(remark);
  const lead = cause === "" ? "" : `${cause}: `;
  return told(lead && remark.startsWith(lead) ? remark.slice(lead.length) : remark);
}
