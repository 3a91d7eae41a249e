// Where the running workloads in sight run. The read API tells it of named workloads alone: rows that come into sight are
// asked for together, and all of them again, in rounds, while they stay there.

export interface Location {
  id: string; // of the workload
  remark: string; // flavors and nodes, as `berth list` tells them
}
export interface Answer {
  items: Location[];
  isFutile: boolean; // it tells no nodes, and will tell none soon: the reader may not list pods
}
// Rejected: the rows keep what is known.
type Ask = (ids: string[]) => Promise<Answer>;
// Calls back after a time; the result takes the call back.
type Later = (call: () => void, ms: number) => () => void;

const GATHER_MS = 100; // rows that come into sight together are one request
const ROUND_MS = 10_000;
const FUTILE_ROUND_MS = 300_000;
const SHARE = 20; // a round takes so many times as long as its slowest answer
const MOST_ASKED = 32; // in a request

export class Locations {
  private readonly rows = new Map<string, number>(); // in sight: how many show the workload
  private readonly asked = new Set<string>(); // in this round
  private known = new Map<string, string>();
  private next: (() => void) | null = null; // takes the next request back; null: none is planned
  private round: (() => void) | null = null; // takes the end of the round back; null: no request of it has been answered
  private isAsking = false;
  private isFutile = false; // in this round
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
    this.tell(this.known);
    this.endRound();
  }

  private open(): string[] {
    return this.isFutile ? [] : [...this.rows.keys()].filter((id) => !this.asked.has(id));
  }

  private plan(): void {
    if (this.isAsking || this.next || this.open().length === 0) return;
    this.next = this.later(() => void this.request(), GATHER_MS);
  }

  private endRound(): void {
    this.round?.();
    this.round = null;
    this.asked.clear();
    this.isFutile = false;
    this.slowestMs = 0;
    this.plan();
  }

  private async request(): Promise<void> {
    this.next = null;
    const ids = this.open().slice(0, MOST_ASKED);
    if (ids.length === 0) return;
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
    const ms = this.isFutile ? FUTILE_ROUND_MS : Math.max(ROUND_MS, SHARE * this.slowestMs);
    this.round ??= this.later(() => {
      this.round = null;
      this.endRound();
    }, ms);
    this.plan();
  }

  private learn(ids: string[], { items, isFutile }: Answer): void {
    this.isFutile = isFutile;
    const known = new Map([...this.known].filter(([id]) => this.rows.has(id) && !ids.includes(id)));
    for (const { id, remark } of items) known.set(id, remark);
    const isSame = known.size === this.known.size && [...known].every(([id, remark]) => this.known.get(id) === remark);
    this.known = known;
    if (!isSame) this.tell(known);
  }
}
