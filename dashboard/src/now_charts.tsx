// The last hours on the first view: workloads, causes of waits, and the use of the main resource against its quota and
// what ready nodes have. The page draws what it has seen, and before that what the ledger knows.
import { useMemo, useState } from "preact/hooks";
import { workloadStates, type WorkloadStates } from "./api";
import { TimeChart, type ChartLine, type Window } from "./chart";
import { amount, count } from "./format";
import { Segments } from "./frame";
import { scope, useAnswer } from "./live";
import { clock, Panel } from "./parts";
import { pastNumbers, pastUse, type Numbers } from "./past_states";
import { useAddressed } from "./router";
import { withGaps, type Sample } from "./seen";
import { Store, useStore } from "./store";
import { isMain, type Total } from "./totals";
import { samples } from "./watch";
import { causeColor, causeLabel } from "./words";

const SPANS = [
  { value: "900", word: "15 min" },
  { value: "3600", word: "1 h" },
  { value: "21600", word: "6 h" },
  { value: "86400", word: "24 h" },
];
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

// What the ledger knows of the last day; null: nothing, or there is none.
function usePast(): WorkloadStates | null {
  const namespace = useStore(scope);
  return useAnswer(null, `states ${namespace}`, () => workloadStates(1, namespace).catch(() => null)).answer;
}

export function NowCharts({ main }: { main: Total | null }) {
  const all = useStore(samples);
  const now = Math.floor(useStore(clock) / 5_000) * 5 + 5;
  const [window] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const [asked, setSpan] = useAddressed("span", "");
  const states = usePast();
  const past = useMemo(() => (states ? pastNumbers(states, all) : []), [states, all]);
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
            <UseChart states={states} main={main} all={all} {...common} />
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
  const known = [...past, ...all];
  const totals = new Map<string, number>();
  for (const point of known) for (const [cause, number] of Object.entries(point.causes)) totals.set(cause, (totals.get(cause) ?? 0) + number);
  // A cause that held for seconds only is no line.
  const isSeen = (cause: string) => known.some((point) => Math.round(point.causes[cause] ?? 0) > 0);
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
  states: WorkloadStates | null;
  main: Total;
  all: Sample[];
  end: number | undefined;
  from: number;
  to: number;
  window: Window;
}

// The ledger's quarters of an hour, then the samples. The use of chosen namespaces is left out: the samples have that of all.
function UseChart({ states, main, all, end, from, to, window }: UseChartOf) {
  const isWhole = useStore(scope) === "";
  const lines = useMemo(() => {
    const past = states && isWhole ? pastUse(states, (resource) => isMain(main.resource, resource)) : [];
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
  }, [states, isWhole, all, main]);
  return <TimeChart label={`${main.resource} in use against quota and nodes`} times={lines.times} lines={lines.drawn} end={end} from={from} to={to} window={window} />;
}
