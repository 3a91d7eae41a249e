// Where the running workloads in sight run. The read API tells it of named workloads alone: rows that come into sight are
// asked for together, and all of them again, in rounds, while they stay there.

export interface Location {
  id: string; // of the workload
  remark: string; // flavors and nodes, as `berth list` tells them
}
export interface Answer {
  items: Location[];
  failed: string[]; // workloads whose pods the API server has not given
  namespacesWithoutPods: string[]; // the reader may not list their pods
}
// Rejected: the rows keep what is known.
type Ask = (ids: string[]) => Promise<Answer>;
// Calls back after a time; the result takes the call back.
type Later = (call: () => void, ms: number) => () => void;

const GATHER_MS = 100; // rows that come into sight together are one request
const ROUND_MS = 10_000;
const REFUSED_MS = 300_000; // so long a namespace without the right to list pods is not asked for
const SHARE = 20; // a round takes so many times as long as its slowest answer
const MOST_ASKED = 32; // in a request

export class Locations {
  private readonly rows = new Map<string, number>(); // in sight: how many show the workload
  private readonly asked = new Set<string>(); // in this round
  private readonly refused = new Map<string, number>(); // namespaces: until when they are not asked for
  private known = new Map<string, string>();
  private next: (() => void) | null = null; // takes the next request back; null: none is planned
  private end: (() => void) | null = null; // takes the end of the round back; null: none is planned
  private endMs = 0; // the length of the round for which its end is planned
  private began = 0; // when the first request of the round was sent
  private isAsking = false;
  private slowestMs = 0; // in this round
  private age = 0; // of what is known: grows when all of it is forgotten

  // `tell` gets what is known whenever it has changed.
  constructor(
    private readonly ask: Ask,
    private readonly tell: (remarks: ReadonlyMap<string, string>) => void,
    private readonly later: Later,
    private readonly now: () => number,
  ) {}

  // A row of the workload is in sight until the result is called.
  show(id: string): () => void {
    this.rows.set(id, (this.rows.get(id) ?? 0) + 1);
    this.plan();
    return () => {
      const rest = (this.rows.get(id) ?? 1) - 1;
      if (rest > 0) this.rows.set(id, rest);
      else {
        this.rows.delete(id);
        this.asked.delete(id);
      }
    };
  }

  // After the end of a session, and for other namespaces.
  forget(): void {
    this.age += 1;
    this.known = new Map();
    this.refused.clear();
    this.tell(this.known);
    this.endRound();
  }

  private open(): string[] {
    const isRefused = (id: string) => (this.refused.get(namespaceOf(id)) ?? 0) > this.now();
    return [...this.rows.keys()].filter((id) => !this.asked.has(id) && !isRefused(id));
  }

  private plan(): void {
    if (this.isAsking || this.next || this.open().length === 0) return;
    this.next = this.later(() => void this.request(), GATHER_MS);
  }

  private endRound(): void {
    this.end?.();
    this.end = null;
    this.asked.clear();
    this.slowestMs = 0;
    this.plan();
    // All rows in sight are of namespaces that are not asked for now.
    if (!this.next && !this.isAsking && this.rows.size > 0) this.end = this.later(() => this.endRound(), ROUND_MS);
  }

  // Once all rows in sight have been asked for. New rows do not put the end off.
  private planEnd(): void {
    const ms = Math.max(ROUND_MS, SHARE * this.slowestMs);
    if (this.rows.size === 0 || this.open().length > 0 || (this.end && ms <= this.endMs)) return;
    this.end?.();
    this.endMs = ms;
    const close = () => {
      this.end = this.isAsking ? this.later(close, GATHER_MS) : null;
      if (!this.end) this.endRound();
    };
    this.end = this.later(close, Math.max(0, this.began + ms - this.now()));
  }

  private async request(): Promise<void> {
    this.next = null;
    const ids = this.open().slice(0, MOST_ASKED);
    if (ids.length === 0) return this.planEnd();
    if (this.asked.size === 0) this.began = this.now();
    for (const id of ids) this.asked.add(id);
    const age = this.age;
    const began = this.now();
    this.isAsking = true;
    try {
      const answer = await this.ask(ids.sort());
      if (age === this.age) this.learn(ids, answer);
    } catch {
      // What is known is still shown, and asked for in the next round.
    }
    this.isAsking = false;
    this.slowestMs = Math.max(this.slowestMs, this.now() - began);
    this.planEnd();
    this.plan();
  }

  private learn(ids: string[], { items, failed, namespacesWithoutPods }: Answer): void {
    for (const each of namespacesWithoutPods) this.refused.set(each, this.now() + REFUSED_MS);
    const isKept = (id: string) => this.rows.has(id) && (!ids.includes(id) || failed.includes(id));
    const known = new Map([...this.known].filter(([id]) => isKept(id)));
    for (const { id, remark } of items) known.set(id, remark);
    const isSame = known.size === this.known.size && [...known].every(([id, remark]) => this.known.get(id) === remark);
    this.known = known;
    if (!isSame) this.tell(known);
  }
}

const namespaceOf = (id: string) => id.slice(0, id.indexOf("/"));
