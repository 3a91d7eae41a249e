// Where the running workloads in sight run. The read API tells it of named workloads alone: rows that come into sight are
// asked for together, and again while they stay there.

export interface Location {
  id: string; // of the workload
  remark: string; // flavors and nodes, as `berth list` tells them
}
type Ask = (ids: string[]) => Promise<Location[]>;
// Calls back after a time; the result takes the call back.
type Later = (call: () => void, ms: number) => () => void;

const GATHER_MS = 100; // rows that come into sight together are one request
const AGAIN_MS = 10_000;
const MOST_ASKED = 32; // in a request

export class Locations {
  private readonly rows = new Map<string, number>(); // in sight: how many show the workload
  private asked = new Set<string>(); // in this round
  private known = new Map<string, string>();
  private cancel: (() => void) | null = null; // the next request; null: one is under way, or nothing is in sight
  private isAsking = false;
  private age = 0; // of what is known: grows when all of it is forgotten

  // `tell` gets what is known whenever it has changed.
  constructor(
    private readonly ask: Ask,
    private readonly tell: (remarks: ReadonlyMap<string, string>) => void,
    private readonly later: Later,
  ) {}

  // A row of the workload is in sight until the result is called.
  show(id: string): () => void {
    this.rows.set(id, (this.rows.get(id) ?? 0) + 1);
    if (!this.asked.has(id)) this.plan(GATHER_MS);
    return () => {
      const rest = (this.rows.get(id) ?? 1) - 1;
      if (rest > 0) this.rows.set(id, rest);
      else this.rows.delete(id);
    };
  }

  // After the end of a session, and for other namespaces.
  forget(): void {
    this.age += 1;
    this.asked = new Set();
    this.known = new Map();
    this.tell(this.known);
    if (this.rows.size > 0) this.plan(GATHER_MS);
  }

  private plan(ms: number): void {
    if (this.isAsking) return;
    this.cancel?.();
    this.cancel = this.later(() => void this.next(), ms);
  }

  private async next(): Promise<void> {
    this.cancel = null;
    const open = () => [...this.rows.keys()].filter((id) => !this.asked.has(id));
    if (open().length === 0) this.asked = new Set(); // a new round
    const ids = open().slice(0, MOST_ASKED);
    if (ids.length === 0) return; // nothing is in sight
    for (const id of ids) this.asked.add(id);
    const age = this.age;
    this.isAsking = true;
    try {
      const found = await this.ask(ids.sort());
      if (age === this.age) this.learn(ids, found);
    } catch {
      // What is known is still shown, and asked for in the next round.
    } finally {
      this.isAsking = false;
    }
    this.plan(open().length > 0 ? GATHER_MS : AGAIN_MS);
  }

  private learn(ids: string[], found: Location[]): void {
    const known = new Map([...this.known].filter(([id]) => this.rows.has(id) && !ids.includes(id)));
    for (const { id, remark } of found) known.set(id, remark);
    const isSame = known.size === this.known.size && [...known].every(([id, remark]) => this.known.get(id) === remark);
    this.known = known;
    if (!isSame) this.tell(known);
  }
}
