// The last hours on the first view: workloads, causes of waits, and the use of the main resource against its quota and
// what ready nodes have. The page draws what it has seen, and before that what the ledger knows.
import { useMemo, useState } from "preact/hooks";
import { cohortHistory, queueHistory, workloadStates, type Amount, type Queue } from "./api";
import { TimeChart, type ChartLine, type Window } from "./chart";
import { amount, count, isInfinite } from "./format";
import { Segments } from "./frame";
import { scope, useAnswer } from "./live";
import { clock, Panel } from "./parts";
import { pastNumbers, type Numbers } from "./past_states";
import { useAddressed } from "./router";
import { withGaps, type Sample } from "./seen";
import { Store, useStore } from "./store";
import { isMain, type Total } from "./totals";
import { rootOf } from "./tree";
import { samples } from "./watch";
import { causeColor, causeLabel } from "./words";

const SPANS = [
  { value: "900", word: "15 min" },
  { value: "3600", word: "1 h" },
  { value: "21600", word: "6 h" },
  { value: "86400", word: "24 h" },
];
const MOST_ASKED = 4; // roots of cohorts, and queues without a cohort
const MOST_CAUSES = 8;

const LEAST_S = 300;
const USUAL_S = 3_600;
const USUAL_WITH_LEDGER_S = 6 * 3_600; // the first hours of a reader are not empty
const HELD_S = 60; // the last sample holds so long

// All that was seen of the last hour, or that the ledger knows of the last hours.
function usualSpan(all: Sample[], past: Numbers[], now: number): number {
  const most = past.length > 0 ? USUAL_WITH_LEDGER_S : USUAL_S;
  return Math.max(LEAST_S, Math.min(most, now - Math.min(all[0]?.at ?? now, past[0]?.at ?? now)));
}

// Empty without a ledger.
function usePastNumbers(all: Sample[]): Numbers[] {
  const namespace = useStore(scope);
  const { answer } = useAnswer(null, `states ${namespace}`, () => workloadStates(1, namespace).catch(() => null));
  return useMemo(() => (answer ? pastNumbers(answer, all) : []), [answer, all]);
}

export function NowCharts({ queues, main }: { queues: Queue[]; main: Total | null }) {
  const all = useStore(samples);
  const now = Math.floor(useStore(clock) / 5_000) * 5 + 5;
  const [window] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const [asked, setSpan] = useAddressed("span", "");
  const past = usePastNumbers(all);
  const from = now - (SPANS.some((each) => each.value === asked) ? Number(asked) : usualSpan(all, past, now));
  const lines = useMemo(() => linesOf(all, past, now), [all, past, Math.floor(now / 30)]);
  const choose = (value: string) => {
    window.set(null);
    setSpan(value);
  };
  const end = now - (all.at(-1)?.at ?? 0) < HELD_S ? now : undefined;
  const common = { times: lines.times, end, from, to: now, window };
  return (
    <>
      <div class="third">
        <Panel title="Workloads" aside={<Segments label="Time that is shown" value={asked} options={SPANS} onChange={choose} />}>
          <TimeChart label="Workloads by state" {...common} lines={lines.workloads} none="The page draws what it sees from now on." />
        </Panel>
      </div>
      <div class="third">
        <Panel title="Causes of waits">
          <TimeChart label="Workloads that wait, by cause" {...common} lines={lines.causes} isStacked none="Nothing has waited since the page is open." />
        </Panel>
      </div>
      {main && (
        <div class="third rest">
          <Panel title={`${main.resource} in use`}>
            <UseChart queues={queues} main={main} all={all} {...common} />
          </Panel>
        </div>
      )}
    </>
  );
}

interface Lines {
  times: number[];
  workloads: ChartLine[];
  causes: ChartLine[];
}

// The ledger leaves no gaps between what was seen.
function linesOf(all: Sample[], past: Numbers[], now: number): Lines {
  const points = past.length > 0 ? [...past, ...all].sort((a, b) => a.at - b.at) : withGaps(all, now);
  const of = (value: (numbers: Numbers) => number) => points.map((point) => ("running" in point ? value(point) : null));
  const totals = new Map<string, number>();
  for (const point of [...past, ...all]) for (const [cause, number] of Object.entries(point.causes)) totals.set(cause, (totals.get(cause) ?? 0) + number);
  // A cause that held for seconds only is no line.
  const isSeen = (cause: string) => [...past, ...all].some((point) => Math.round(point.causes[cause] ?? 0) > 0);
  const causes = [...totals].sort((a, b) => b[1] - a[1]).slice(0, MOST_CAUSES).map(([cause]) => cause).filter(isSeen);
  const text = (value: number) => count(Math.round(value));
  return {
    times: points.map((point) => point.at),
    workloads: [
      { label: "waiting", values: of((numbers) => numbers.waiting + numbers.reserved), text, color: "--waiting", look: "step" },
      { label: "running", values: of((numbers) => numbers.running), text, color: "--running", look: "step" },
    ],
    causes: causes.map((cause) => ({ label: causeLabel(cause), values: of((numbers) => numbers.causes[cause] ?? 0), text, color: causeColor(cause) })),
  };
}

interface UseChartOf {
  queues: Queue[];
  main: Total;
  all: Sample[];
  end: number | undefined;
  from: number;
  to: number;
  window: Window;
}

// The ledger's hours of the last day, then the samples.
function UseChart({ queues, main, all, end, from, to, window }: UseChartOf) {
  const past = usePast(queues, main);
  const lines = useMemo(() => {
    const points = withGaps(all, to);
    const first = points[0]?.at ?? Infinity;
    const before = past.filter((each) => each.at < first);
    const used = [...before.map((each) => each.used), ...points.map((point) => ("used" in point ? point.used : null))];
    const quota = [...before.map((each) => each.quota ?? main.quota), ...points.map((point) => ("used" in point ? point.quota : null))];
    const text = (value: number) => amount(value, main.unit);
    const drawn: ChartLine[] = [{ label: "in use", values: used, text, color: "--c1", look: "area" }];
    if (main.quota !== null) drawn.push({ label: "quota", values: quota, text, color: "--c8", look: "dashes" });
    const nodes = [...before.map(() => null), ...points.map((point) => ("used" in point ? (point.nodes ?? null) : null))];
    if (nodes.some((value) => value !== null)) drawn.push({ label: "on ready nodes", values: nodes, text, color: "--c3", look: "step" });
    return { times: [...before.map((each) => each.at), ...points.map((point) => point.at)], drawn };
  }, [past, all, main]);
  return <TimeChart label={`${main.resource} in use against quota and nodes`} times={lines.times} lines={lines.drawn} end={end} from={from} to={to} window={window} />;
}

interface Past {
  at: number;
  used: number;
  quota: number | null; // null: not known
}

const NO_PAST: Past[] = [];

// What the queues used in the hours before; empty without a ledger, and where the reader may not see all queues.
function usePast(queues: Queue[], main: Total): Past[] {
  const namespace = useStore(scope);
  const roots = [...new Set(queues.map(rootOf).filter(Boolean))].slice(0, MOST_ASKED);
  const lone = queues.filter((queue) => queue.cohort === "").map((queue) => queue.name).slice(0, MOST_ASKED);
  const { answer } = useAnswer(null, `use ${main.resource} ${namespace} ${roots.join()} ${lone.join()}`, async () => {
    if (namespace !== "") return [];
    const cohorts = await Promise.all(roots.map((root) => cohortHistory(root, 1).catch(() => null)));
    const alone = await Promise.all(lone.map((name) => queueHistory(name, 1, "").catch(() => null)));
    const amountOf = (amounts: Amount[]) => amounts.filter((each) => isMain(main.resource, each.resource)).reduce((sum, each) => sum + each.amount, 0);
    const sums = new Map<string, { used: number; quota: number }>();
    const add = (part: string | undefined, used: Amount[], quota: Amount[]) => {
      if (part === undefined) return;
      const sum = sums.get(part) ?? { used: 0, quota: 0 };
      sums.set(part, { used: sum.used + amountOf(used), quota: sum.quota + amountOf(quota) });
    };
    for (const cohort of cohorts) {
      for (const queue of cohort?.queues ?? []) queue.parts.forEach((part, i) => add(cohort?.times[i]?.from, part.used, []));
      cohort?.totals.forEach((total, i) => add(cohort.times[i]?.from, [], total.quota));
    }
    for (const queue of alone) for (const part of queue?.parts ?? []) add(part.from, part.used, part.quota);
    return [...sums]
      .map(([at, { used, quota }]) => ({ at: Date.parse(at) / 1000, used, quota: quota === 0 || isInfinite(quota, main.unit) ? null : quota }))
      .filter((each) => Number.isFinite(each.at))
      .sort((a, b) => a.at - b.at);
  });
  return answer ?? NO_PAST;
}
