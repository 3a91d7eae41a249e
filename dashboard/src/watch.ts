// What every view of the page knows: numbers of workloads, the queues, what somebody should look at, and samples of it all
// over time. One watcher asks for the whole page; views read the store.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { alertsOf, type Alert } from "./alerts";
import { capacity, type Count, type Problem, type Queue } from "./api";
import { connection, countOf, scope, useAnswer, useCounts, useList, type List } from "./live";
import { clock } from "./parts";
import { address } from "./router";
import { samplesOf, stepAt, withSample, type Sample } from "./seen";
import { keptStore, Store, useStore } from "./store";
import { onNodes, totalOf, type Total } from "./totals";

const SUPPLY_PAUSE_MS = 120_000; // it is read from the API server
const COUNTS_PAUSE_MS = 2_000; // on the first view
const SELDOM_MS = 5_000; // on the others
const MOST_QUEUES = 1_000;
const MOST_UNANSWERED = 200;
const SAVE_MS = 30_000;
const QUEUE_FIELDS = "name,cohort,parents,waiting,running,strategy,stopPolicy,inactive,weightedShare,resources";

export interface Known {
  states: Count[] | null; // null: no answer has come
  causes: Count[] | null;
  problem: Problem | null;
  queues: List<Queue>; // without their flavors
  alerts: Alert[];
  main: Total | null; // the resource that the queues are for
  nodes: number | null; // of it on ready nodes; null: not known
}

export const known = new Store<Known | null>(null);

const kept = keptStore("berth.seen", "");
export const samples = new Store<Sample[]>([]);
let owner = "";

// Samples belong to a reader and the namespaces of the page.
function own(name: string): void {
  if (owner === name) return;
  owner = name;
  const [of, text] = kept.get().split("\n");
  samples.set(of === owner ? samplesOf(text ?? "") : []);
}

function save(): void {
  if (samples.get().length > 0) kept.set(`${owner}\n${JSON.stringify(samples.get())}`);
}

export function forgetSeen(): void {
  samples.set([]);
  kept.set("");
  owner = "";
}

export function Watcher({ user }: { user: string }) {
  const namespace = useStore(scope);
  const pause = useStore(address).path === "/" ? COUNTS_PAUSE_MS : SELDOM_MS;
  const states = useCounts("workloads", "state", {}, pause);
  const causes = useCounts("workloads", "cause", {}, pause);
  const queues = useList("queues", { fields: QUEUE_FIELDS }, MOST_QUEUES);
  const unanswered = useList("capacityrequests", { state: "Pending", sort: "createdAt" }, MOST_UNANSWERED);
  const oldest = useList("workloads", { state: "waiting,reserved", sort: "waitingSince", fields: "namespace,name,waitingSince" }, 1);
  const requests = useCounts("capacityrequests", "state", {}, pause);
  const supply = useAnswer("capacityrequests", `capacity ${namespace}`, () => capacity(namespace), { pause: SUPPLY_PAUSE_MS, beat: SUPPLY_PAUSE_MS });
  const beat = Math.floor(useStore(clock) / 5_000);
  const main = useMemo(() => totalOf(queues.rows), [queues.rows]);
  const stock = supply.answer?.stock;
  const nodes = onNodes(main, supply.answer?.machines);
  const failed = countOf(requests.values, "Failed");
  const misconfigured = countOf(causes.values, "misconfigured");
  const tooLarge = countOf(causes.values, "too large");
  const alerts = useMemo(
    () => alertsOf({ queues: queues.rows, unanswered: unanswered.rows, stock: stock ?? [], misconfigured, tooLarge, failed, oldest: oldest.rows }, Date.now()),
    [queues.rows, unanswered.rows, stock, misconfigured, tooLarge, failed, oldest.rows, beat],
  );
  const latest = useRef<() => void>(() => {});
  latest.current = () => {
    own(`${user} ${namespace}`);
    if (!states.values || !causes.values || queues.loading || ["lost", "refused"].includes(connection.get())) return;
    const at = Math.floor(Date.now() / 1000);
    const last = samples.get().at(-1);
    if (last && at - last.at < stepAt(0)) return;
    const waits = Object.fromEntries(causes.values.filter((each) => each.value !== "").map((each) => [each.value, each.count]));
    samples.set(withSample(samples.get(), { at, waiting: countOf(states.values, "waiting"), reserved: countOf(states.values, "reserved"), running: countOf(states.values, "running"), causes: waits, used: main?.used ?? 0, quota: main?.quota ?? null, nodes }));
  };
  const problem = states.problem ?? queues.problem;
  useEffect(() => {
    known.set({ states: states.values, causes: causes.values, problem, queues, alerts, main, nodes });
  }, [states.values, causes.values, problem, queues.rows, queues.loading, queues.problem, alerts, nodes]);
  useEffect(() => latest.current());
  useEffect(() => {
    const saver = setInterval(save, SAVE_MS);
    addEventListener("pagehide", save);
    return () => {
      clearInterval(saver);
      removeEventListener("pagehide", save);
    };
  }, []);
  return null;
}
