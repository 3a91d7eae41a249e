// The stream of events of the server, one for the page, and lists that it keeps up to date.
//
//     EventSource ─ start, change, resync ─▶ listeners ─▶ useList, useCounts: patch, or ask again
//
// Requests and the stream are answered in any order: a list keeps the changes that come before its answer, and asks again if
// the answer is older than a stream that began meanwhile. An answer that the browser had kept (304) may name an older position
// than it has.
//
// A stream that ends is resumed from its last event; a hidden page gives its stream back, since a
// browser has six connections to a server.
import { useEffect, useRef, useState } from "preact/hooks";
import { counts, list, locations, Problem, session, type Count, type Parameters, type ResourceName, type Resources, type Row } from "./api";
import { Locations } from "./locations";
import { contains, isBehind } from "./positions";
import { Retrier, isPassing } from "./retry";
import { keptStore, Store, useStore } from "./store";

export interface Change {
  resource: ResourceName;
  row?: Row & Record<string, unknown>;
  set?: Row & Record<string, unknown>;
  removed?: Row;
}
// What has come since the last call, in its order. `missed`: changes were lost, ask again. `started`: the stream begins, and
// sends what changes after stream.begin.
interface Batch {
  missed: boolean;
  started: boolean;
  changes: { change: Change; revision: string }[];
}
type Listener = (batch: Batch) => void;
const emptyBatch = (): Batch => ({ missed: false, started: false, changes: [] });

export const scope = keptStore("berth.namespaces", ""); // "a,b"; empty: all
export const connection = new Store<"connecting" | "live" | "lost" | "refused">("connecting");
export const signedOut = new Store(false);
// What a request that writes names, and whether writes are served.
export const secret = new Store("");
export const hasActions = new Store(false);

const FLUSH_MS = 100;
const LOST_AFTER_MS = 4_000;
const HIDDEN_AFTER_MS = 60_000;
const LONGEST_PAUSE_MS = 30_000;

class Stream {
  private source: EventSource | null = null;
  private address = "";
  private last = ""; // the position to resume from
  private pause = 1_000;
  private lostTimer = 0;
  private retryTimer = 0;
  private flushTimer = 0;
  private batch = emptyBatch();
  begin = ""; // the position behind which the stream sends all changes; empty: not known
  private readonly listeners = new Set<Listener>();

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    this.stop();
    const query = new URLSearchParams();
    if (scope.get()) query.set("namespace", scope.get());
    if (this.last) query.set("cursor", this.last);
    const text = query.toString();
    this.address = `/api/v1/events${text ? `?${text}` : ""}`;
    const source = new EventSource(this.address);
    this.source = source;
    source.onopen = () => {
      this.pause = 1_000;
      clearTimeout(this.lostTimer);
      this.lostTimer = 0;
      connection.set("live");
    };
    source.addEventListener("start", (event) => {
      this.last = this.begin = event.lastEventId;
      this.batch.started = true;
      this.flushSoon();
    });
    source.addEventListener("change", (event) => this.take(event));
    source.addEventListener("resync", (event) => {
      this.last = this.begin = event.lastEventId;
      this.batch.missed = true;
      this.flushSoon();
    });
    source.onerror = () => this.fail(source);
  }

  // `forget`: the position too, for another sight.
  stop(forget = false): void {
    clearTimeout(this.retryTimer);
    this.source?.close();
    this.source = null;
    if (forget) this.last = "";
  }

  private take(event: MessageEvent<string>): void {
    this.last = event.lastEventId;
    this.batch.changes.push({ change: JSON.parse(event.data) as Change, revision: event.lastEventId });
    this.flushSoon();
  }

  // Many changes are drawn at once.
  private flushSoon(): void {
    if (this.flushTimer) return;
    this.flushTimer = setTimeout(() => {
      this.flushTimer = 0;
      const batch = this.batch;
      this.batch = emptyBatch();
      for (const listener of [...this.listeners]) listener(batch);
    }, FLUSH_MS);
  }

  private fail(source: EventSource): void {
    if (this.lostTimer === 0 && connection.get() !== "refused") this.lostTimer = setTimeout(() => connection.set("lost"), LOST_AFTER_MS);
    if (source.readyState !== EventSource.CLOSED || source !== this.source) return; // it resumes by itself
    this.source = null;
    this.retryTimer = setTimeout(() => void this.retry(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  private async retry(): Promise<void> {
    const known = await session().catch(() => null);
    if (known && !known.signedIn) return signedOut.set(true);
    if (!known && connection.get() === "refused") connection.set("lost");
    if (known && (await this.isRefused())) {
      clearTimeout(this.lostTimer);
      this.lostTimer = 0;
      connection.set("refused");
    }
    this.start();
  }

  // Whether this reader has no right to the stream. An EventSource does not tell the status of an answer.
  private async isRefused(): Promise<boolean> {
    const stop = new AbortController();
    try {
      return (await fetch(this.address, { signal: stop.signal })).status === 403;
    } catch {
      return false;
    } finally {
      stop.abort();
    }
  }
}

export const stream = new Stream();

let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (signedOut.get()) return;
  if (document.hidden) hiddenTimer = setTimeout(() => stream.stop(), HIDDEN_AFTER_MS);
  else stream.start();
});
scope.listen(() => {
  stream.stop(true);
  stream.start();
});

function noticed(error: unknown): Problem {
  const problem = error instanceof Problem ? error : new Problem(0, String(error));
  if (problem.status === 401) signedOut.set(true);
  return problem;
}

// The latest answers, shown until new ones come: a view that was seen before is whole at once.
const MOST_KEPT = 80;
const keptAnswers = new Map<string, unknown>();

function keep(key: string, answer: unknown): void {
  keptAnswers.delete(key);
  keptAnswers.set(key, answer);
  const oldest = keptAnswers.keys().next();
  if (keptAnswers.size > MOST_KEPT && !oldest.done) keptAnswers.delete(oldest.value);
}

// After the end of a session nothing of it is shown.
export function forgetAnswers(): void {
  keptAnswers.clear();
  inSight.forget();
}

// Where the running workloads in sight run, by their ids.
export const remarks = new Store<ReadonlyMap<string, string>>(new Map());
export const inSight = new Locations(
  async (ids) => {
    const none = { failed: [], namespacesWithoutPods: [] };
    if (document.hidden) return { items: [...remarks.get()].map(([id, remark]) => ({ id, remark })), ...none };
    return locations(ids, scope.get()).catch((error: unknown) => Promise.reject(noticed(error)));
  },
  (known) => remarks.set(known),
  (call, ms) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  () => performance.now(),
);
scope.listen(() => inSight.forget());

export interface List<T> {
  rows: T[];
  loading: boolean; // no answer has come
  isStale: boolean; // the rows are those of other filters, until the answer comes
  problem: Problem | null;
  hasMore: boolean;
  hasChanged: boolean; // the rows shown are those of before
  more: () => void;
  again: () => void;
}

const BEAT_MS = 30_000;
const PAGE = 200;
const NO_ROWS: never[] = [];
const MOST_RELOADED = 1_000;
const RELOAD_AFTER_MS = 700;

interface Held<T> {
  rows: T[];
  next: string | undefined;
  revision: string;
}
interface HeldList<T> {
  key: string;
  sight: string; // resource and namespaces
  value: Held<T>;
}

function filterValues(parameters: Parameters, field: string): string[] | null {
  const value = parameters[field];
  return value === undefined || value === "" ? null : String(value).split(",");
}

const NOT_FILTERS = new Set(["sort", "limit", "fields", "cursor"]);
const PREFIXES = new Set(["name"]); // filters that compare the beginning

function matches(row: Record<string, unknown>, parameters: Parameters): boolean {
  return Object.keys(parameters).every((field) => {
    if (NOT_FILTERS.has(field)) return true;
    const values = filterValues(parameters, field);
    const own = String(row[field]);
    return values === null || (PREFIXES.has(field) ? values.some((value) => own.startsWith(value)) : values.includes(own));
  });
}

// A list that follows the events. `parameters`: filters and the order; `limit`: of the first page.
export function useList<N extends ResourceName>(resource: N, parameters: Parameters, limit = PAGE): List<Resources[N]> {
  type T = Resources[N];
  const namespaces = useStore(scope);
  const key = JSON.stringify([resource, parameters, limit, namespaces]);
  const sight = `${resource} ${namespaces}`;
  const [held, setHeld] = useState<HeldList<T> | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [hasChanged, setHasChanged] = useState(false);
  const state = useRef<HeldList<T> | null>(null);
  const busy = useRef("");
  const actions = useRef({ more: () => {}, again: () => {} });

  useEffect(() => {
    let ended = false;
    let timer = 0;
    let early: Batch[] = []; // came before the answer to the latest request
    const asked: Parameters = { ...(namespaces ? { namespace: namespaces } : {}), ...parameters };
    const sort = String(parameters["sort"] ?? "").replace(/^-/, "");
    const put = (value: Held<T>) => {
      state.current = { key, sight, value };
      keep(key, value);
      setHeld(state.current);
    };
    const load = async () => {
      const mine = { begin: stream.begin };
      current = mine;
      early = [];
      retrier.stop();
      const shown = state.current?.key === key ? state.current.value.rows.length : 0;
      try {
        const page = await list(resource, { ...asked, limit: Math.max(limit, Math.min(shown, MOST_RELOADED)) });
        if (ended || current !== mine) return;
        put({ rows: page.items, next: page.next, revision: page.revision });
        setProblem(null);
        setHasChanged(false);
        current = null;
        retrier.settle(null);
        early.forEach(take);
        if (mine.begin !== stream.begin && isBehind(page.revision, stream.begin)) reloadSoon();
      } catch (error) {
        if (ended || current !== mine) return;
        const found = noticed(error);
        if (!isPassing(found.status)) keptAnswers.delete(key);
        setProblem(found);
        current = null;
        retrier.settle(found);
      }
    };
    let current: object | null = null; // the request under way
    const retrier = new Retrier(() => void load());
    const reloadSoon = () => {
      if ((state.current?.value.rows.length ?? 0) > MOST_RELOADED) return setHasChanged(true);
      if (timer) return;
      timer = setTimeout(() => {
        timer = 0;
        void load();
      }, RELOAD_AFTER_MS);
    };
    const more = async () => {
      const before = state.current;
      if (!before || before.key !== key || !before.value.next || busy.current === before.value.next) return;
      busy.current = before.value.next;
      try {
        const page = await list(resource, { ...asked, limit: MOST_RELOADED, cursor: before.value.next });
        if (!ended && state.current?.value.next === before.value.next) {
          put({ ...state.current.value, rows: [...state.current.value.rows, ...page.items], next: page.next });
        }
      } catch (error) {
        if (!ended) setProblem(noticed(error));
      } finally {
        busy.current = "";
      }
    };
    const take: Listener = (batch) => {
      if (batch.missed) return void load();
      if (current) early.push(batch);
      const value = state.current?.key === key ? state.current.value : null;
      if (!value) return;
      if (batch.started && isBehind(value.revision, stream.begin)) reloadSoon();
      const fields = new Map<string, object>(); // by the row's id
      const removed = new Set<string>();
      for (const { change, revision } of batch.changes) {
        if (change.resource !== resource || contains(value.revision, revision)) continue;
        if (change.removed) removed.add(change.removed.id);
        if (change.row && matches(change.row, asked)) reloadSoon();
        const set = change.set;
        if (!set) continue;
        if (Object.keys(set).some((field) => field === sort || (field !== "id" && field in asked))) reloadSoon();
        fields.set(set.id, { ...fields.get(set.id), ...set });
      }
      if (!value.rows.some((row) => removed.has(row.id) || fields.has(row.id))) return;
      const rows = value.rows.filter((row) => !removed.has(row.id)).map((row) => (fields.has(row.id) ? { ...row, ...fields.get(row.id) } : row));
      put({ ...value, rows });
    };
    actions.current = { more: () => void more(), again: () => void load() };
    setProblem(null);
    setHasChanged(false);
    void load();
    const end = stream.listen(take);
    return () => {
      ended = true;
      clearTimeout(timer);
      retrier.stop();
      end();
    };
  }, [key]);

  const value = held?.key === key ? held.value : ((keptAnswers.get(key) as Held<T> | undefined) ?? null);
  const other = value === null && problem === null && held?.sight === sight ? held.value : null;
  return {
    rows: value?.rows ?? other?.rows ?? NO_ROWS,
    loading: value === null && other === null && problem === null,
    isStale: other !== null,
    problem,
    hasMore: value?.next !== undefined,
    hasChanged,
    more: () => actions.current.more(),
    again: () => actions.current.again(),
  };
}

export interface Counts {
  key: string;
  values: Count[] | null; // null: no answer has come
  problem: Problem | null;
}

const COUNTS_PAUSE_MS = 2_000;

// How many rows have the value; 0 without an answer.
export function countOf(counts: Count[] | null, value: string): number {
  return counts?.find((each) => each.value === value)?.count ?? 0;
}

// Numbers of rows by the values of a field, asked for again after events, at most once in `pause` ms.
export function useCounts(resource: ResourceName, by: string, parameters: Parameters = {}, pause = COUNTS_PAUSE_MS): Counts {
  const namespaces = useStore(scope);
  const key = JSON.stringify([resource, by, parameters, namespaces]);
  const none: Counts = { key, values: null, problem: null };
  const [held, setHeld] = useState(none);
  const answered = useRef("");
  const load = async (isCurrent: () => boolean) => {
    try {
      const { values, revision } = await counts(resource, by, { ...(namespaces ? { namespace: namespaces } : {}), ...parameters });
      answered.current = revision;
      if (isCurrent()) setHeld({ key, values, problem: null });
      keep(key, values);
      return null;
    } catch (error) {
      const problem = noticed(error);
      if (!isPassing(problem.status)) keptAnswers.delete(key);
      if (isCurrent()) setHeld({ ...none, values: isPassing(problem.status) ? ((keptAnswers.get(key) as Count[] | undefined) ?? null) : null, problem });
      return problem;
    }
  };
  useFresh(resource, key, pause, load, { answered });
  return held.key === key ? held : { ...none, values: (keptAnswers.get(key) as Count[] | undefined) ?? null };
}

// Calls `load` now, after events that concern `resource` (and `id`) at most once in `pause` ms, and
// soon after a problem that may pass. `resource` null: no events concern it. `answered`: the position of the latest answer,
// for answers that have one.
export function useFresh(
  resource: ResourceName | null,
  key: string,
  pause: number,
  load: (isCurrent: () => boolean) => Promise<Problem | null>,
  { id, answered }: { id?: string | undefined; answered?: { current: string } } = {},
): void {
  const latest = useRef(load);
  latest.current = load;
  const latestPause = useRef(pause);
  latestPause.current = pause;
  useEffect(() => {
    let ended = false;
    let timer = 0;
    const isOld = () => answered !== undefined && isBehind(answered.current, stream.begin);
    const run = () => {
      retrier.stop();
      const begin = stream.begin;
      const settle = (problem: Problem | null) => {
        if (ended) return;
        retrier.settle(problem);
        if (!problem && begin !== stream.begin && isOld()) soon();
      };
      latest.current(() => !ended).then(settle, (error) => settle(noticed(error)));
    };
    const soon = () => {
      if (timer) return;
      timer = setTimeout(() => {
        timer = 0;
        run();
      }, latestPause.current);
    };
    const retrier = new Retrier(run);
    const end = stream.listen(({ missed, started, changes }) => {
      const concerns = ({ change }: { change: Change }) =>
        change.resource === resource && (id === undefined || (change.removed ?? change.set ?? change.row)?.id === id);
      if (missed || (started && isOld()) || changes.some(concerns)) soon();
    });
    run();
    return () => {
      ended = true;
      clearTimeout(timer);
      retrier.stop();
      end();
    };
  }, [key]);
}

interface Freshness {
  id?: string; // of the one row whose events count
  pause?: number; // milliseconds between two answers at least
  beat?: number; // milliseconds after which it is asked for again without an event
  of?: string; // the subject: its answer to another question is shown until the new one comes
}
const USUAL_PAUSE_MS = 3_000;

export interface Told<T> {
  answer: T | null;
  problem: Problem | null;
  isStale: boolean; // the answer is one to another question
}

// An answer of the server with the reader's rights, asked for again after events of `resource` (null:
// of none) and every half minute while the page is seen.
export function useAnswer<T>(
  resource: ResourceName | null,
  key: string,
  ask: () => Promise<T>,
  { id, pause = USUAL_PAUSE_MS, beat: every = BEAT_MS, of }: Freshness = {},
): Told<T> {
  const [held, setHeld] = useState<{ key: string; of: string | undefined; answer: T | null; problem: Problem | null } | null>(null);
  const [beat, setBeat] = useState(0);
  const kept = `answer ${key}`;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setBeat((n) => n + 1);
    }, every);
    return () => clearInterval(timer);
  }, [every]);
  useFresh(
    resource,
    `${key} ${beat}`,
    pause,
    async (isCurrent) => {
      try {
        const answer = await ask();
        keep(kept, answer);
        if (isCurrent()) setHeld({ key, of, answer, problem: null });
        return null;
      } catch (error) {
        const problem = noticed(error);
        if (!isPassing(problem.status)) keptAnswers.delete(kept);
        // A busy server is asked again: what it told before is still shown.
        if (isCurrent()) setHeld((before) => (isPassing(problem.status) && before?.answer && before.key === key ? before : { key, of, answer: null, problem }));
        return problem;
      }
    },
    { id },
  );
  if (held?.key === key) return { ...held, isStale: false };
  const before = keptAnswers.get(kept) as T | undefined;
  if (before !== undefined) return { answer: before, problem: null, isStale: false };
  const isOther = of !== undefined && held?.of === of && held.answer !== null;
  return { answer: isOther ? held.answer : null, problem: null, isStale: isOther };
}
