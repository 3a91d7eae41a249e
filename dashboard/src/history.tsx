// What the ledger tells: usage and waits of a queue over time, and the runs of a workload.
import { useMemo, useState } from "preact/hooks";
import { GPU_PARTS, GPUS, isGpuResource } from "./accounts";
import { cohortHistory, queueHistory, workloadHistory, type CohortHistory, type HistoryPart, type Queue } from "./api";
import { Plot, SHARES, TimeChart, TIMES, type ChartLine, type Window } from "./chart";
import { secondsOf, sumOf, type Line } from "./chart_data";
import { amount, count, duration, exact, isInfinite } from "./format";
import { scope, useAnswer } from "./live";
import { ownUse } from "./own_use";
import { Notice, Panel, Skeleton, Table, When } from "./parts";
import { Link, paths, useAddressed } from "./router";
import { fairShare, sharesOf } from "./shares";
import { Store, useStore } from "./store";
import { rootOf } from "./tree";
import { turnsOf } from "./turns";
import { howWord, reasonWord } from "./words";
import { Choice } from "./workloads";

export const SPANS: [string, string][] = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "30 days"],
];
const SMALL_PX = 36;
const MOST_TURNS = 50; // at first; the latest
const MOST_STACKED = 8;

// A line of small bars beside others of the same time, a part of the period each.
interface BarsOf {
  label: string;
  parts: { from: string; to: string }[];
  values: (number | null)[];
  text: (value: number) => string;
}
export function Bars({ label, parts, values, text }: BarsOf) {
  const [store] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const [at, setAt] = useState<number | null>(null);
  const { times, kept, to } = useMemo(() => timesOf(parts), [parts]);
  const lines = useMemo<ChartLine[]>(() => [{ label, values: kept.map((i) => values[i] ?? null), text, look: "bars", color: "--used" }], [label, kept, values, text]);
  const peak = Math.max(0, ...values.map((value) => value ?? 0));
  const value = at === null ? null : (lines[0]?.values[at] ?? null);
  const words = peak > 0 ? `at most ${text(peak)}` : "none";
  return (
    <div class="bars">
      <span>{label}</span>
      <div class="bars-plot" role="img" aria-label={`${label}: ${words}`}>
        {times.length > 0 && <Plot times={times} lines={lines} isStacked={false} height={SMALL_PX} from={times[0] ?? 0} to={to} full={Math.min(1, peak) || 1} store={store} isSmall onAt={setAt} />}
      </div>
      <span class="figure">{value === null ? words : `${text(value)} at ${shortly(times[at ?? 0] ?? 0)}`}</span>
    </div>
  );
}

const SHORTLY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
export const shortly = (seconds: number) => SHORTLY.format(seconds * 1000);

// The beginnings of parts, the indices of those that have one, and the end of the last.
export function timesOf(parts: { from: string; to: string }[]): { times: number[]; kept: number[]; to: number } {
  const { seconds, kept } = secondsOf(parts.map((part) => part.from));
  const end = Date.parse(parts.at(-1)?.to ?? "") / 1000;
  return { times: seconds, kept, to: Number.isNaN(end) ? (seconds.at(-1) ?? 0) : end };
}

// Below bars of the same parts: the time, and the values as a table.
export function Axis({ parts, lines }: { parts: { from: string; to: string }[]; lines: { label: string; values: (number | null)[]; text: (value: number) => string }[] }) {
  const [isOpen, setOpen] = useState(false);
  const first = parts[0];
  const last = parts.at(-1);
  if (!first || !last || lines.length === 0) return null;
  return (
    <>
      <div class="bars bars-axis">
        <span />
        <span>
          <time dateTime={first.from}>{exact(first.from)}</time>
          <time dateTime={last.to}>{exact(last.to)}</time>
        </span>
        <span />
      </div>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Values</summary>
        {isOpen && (
          <Table
            heads={["From", ...lines.map((line) => line.label)]}
            numbers={lines.map((_, i) => i + 1)}
            rows={parts.map((part, i) => [
              exact(part.from),
              ...lines.map((line) => {
                const value = line.values[i] ?? null;
                return value === null ? "–" : line.text(value);
              }),
            ])}
          />
        )}
      </details>
    </>
  );
}

interface Used {
  key: string; // as the ledger names it
  resource: string;
  unit: string;
  of: (used: { resource: string; amount: number }[]) => number;
}

// The resources of a history; GPUs that are shared count as parts of whole ones.
function resourcesOf(used: { resource: string; unit: string }[]): Used[] {
  const units = new Map(used.map((each) => [each.resource, each.unit] as const));
  const hasGpus = units.has(GPUS);
  const all = [...units].filter(([resource]) => !(hasGpus && isGpuResource(resource)));
  const amountOf = (of: { resource: string; amount: number }[], resource: string) => of.find((each) => each.resource === resource)?.amount ?? 0;
  return all.map(([resource, unit]) =>
    resource === GPUS ? { key: resource, resource: "GPUs", unit, of: (of) => amountOf(of, resource) / GPU_PARTS } : { key: resource, resource, unit, of: (of) => amountOf(of, resource) },
  );
}

// The quota of the resource at the end of each part; by the quota of today where the ledger knows no quota.
function quotasOf(queue: Queue, each: Used, parts: HistoryPart[]): (number | null)[] {
  if (parts.every((part) => part.quota.length === 0)) return parts.map(() => quotaOf(queue, each.resource));
  return parts.map((part) => {
    const isKnown = part.quota.some((quota) => quota.resource === each.key);
    const value = each.of(part.quota);
    return isKnown && !isInfinite(value, each.unit) ? value : null;
  });
}

// The quota of the resource today.
function quotaOf(queue: Queue, resource: string): number | null {
  const all = queue.resources.filter((use) => (resource === "GPUs" ? isGpuResource(use.resource) : use.resource === resource));
  return all.length === 0 || all.some((use) => isInfinite(use.nominal, use.unit)) ? null : all.reduce((sum, use) => sum + use.nominal, 0);
}

const seconds = (value: number) => duration(value * 1000);

export function QueueHistory({ queue }: { queue: Queue }) {
  const { name } = queue;
  const namespace = useStore(scope);
  const [days, setDays] = useAddressed("days", "1");
  const [window] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const { answer, problem, isStale } = useAnswer("queues", `history ${name} ${days} ${namespace}`, () => queueHistory(name, Number(days), namespace), { of: `history ${name} ${namespace}` });
  const choose = (value: string) => {
    window.set(null);
    setDays(value);
  };
  return (
    <Panel title="Over time" aside={<Choice label="Of the last" value={days} options={SPANS} onChange={choose} />}>
      {problem && <Notice kind="empty">{problem.message}</Notice>}
      {!problem && !answer && <Skeleton />}
      {answer && (
        <div class={isStale ? "stale" : undefined}>
          <QueueCharts queue={queue} parts={answer.parts} window={window} />
        </div>
      )}
    </Panel>
  );
}

function QueueCharts({ queue, parts, window }: { queue: Queue; parts: HistoryPart[]; window: Window }) {
  const { times, kept, to } = useMemo(() => timesOf(parts), [parts]);
  const charts = useMemo(() => {
    const shown = kept.flatMap((i) => parts[i] ?? []);
    const resources = resourcesOf(parts.flatMap((part) => part.used));
    const uses = resources.map((each) => {
      const quotas = quotasOf(queue, each, shown);
      const text = (value: number) => amount(Math.round(value * 10) / 10, each.unit);
      const used = shown.map((part) => each.of(part.used));
      const hasQuota = quotas.some((quota) => quota !== null);
      const limit: ChartLine[] = hasQuota ? [{ label: "quota", values: quotas, text, look: "dashes", color: "--c8" }] : [];
      if (!hasQuota || queue.cohort === "") {
        const line: ChartLine = { label: `${each.resource} used`, values: used, text, look: "area", color: "--c1" };
        return { label: each.resource, lines: [line, ...limit], isStacked: false };
      }
      const { own, borrowed } = ownUse(used, quotas);
      const lines: ChartLine[] = [
        { label: `${each.resource} borrowed`, values: borrowed, text, color: "--borrowed", hatch: 1 },
        { label: "of its own quota", values: own, text, color: "--used", hatch: 0 },
        ...limit,
      ];
      return { label: each.resource, lines, isStacked: true };
    });
    const waits: ChartLine[] = [
      { label: "median wait", values: shown.map((part) => part.p50WaitSeconds), text: seconds, look: "bars", color: "--c2" },
      { label: "9 of 10 waits", values: shown.map((part) => part.p90WaitSeconds), text: seconds, look: "step", color: "--c4" },
    ];
    const starts: ChartLine[] = [
      { label: "admitted", values: shown.map((part) => part.admitted), text: count, look: "bars", color: "--c3" },
      { label: "preempted", values: shown.map((part) => part.preempted), text: count, look: "step", color: "--c2" },
    ];
    return { uses, waits, starts };
  }, [parts, queue]);
  const common = { times, end: to, from: times[0] ?? 0, to, window };
  return (
    <div class="chart-pair chart-four">
      {charts.uses.map((each) => (
        <TimeChart key={each.label} label={`${each.label} used`} {...common} lines={each.lines} isStacked={each.isStacked} />
      ))}
      <TimeChart label="Waits" {...common} lines={charts.waits} steps={TIMES} none="Nothing was admitted." />
      <TimeChart label="Admitted and preempted" {...common} lines={charts.starts} />
    </div>
  );
}

const weightOf = (queue: Queue) => queue.fairWeightBillionths ?? 1_000_000_000; // 1 where none is set
const percent = (share: number) => `${Math.round(100 * share)} %`;

// How the use of the tree of cohorts was shared: by queue, and the share of this one beside what the weights give to it
// within its cohort (`peers`: the other queues there). For readers of all namespaces: others do not see all that was used.
export function ShareHistory({ queue, peers }: { queue: Queue; peers: Queue[] }) {
  const isShown = useStore(scope) === "" && queue.cohort !== "";
  const [days, setDays] = useAddressed("shareDays", "1");
  const root = rootOf(queue);
  const { answer, problem, isStale } = useAnswer("queues", `shares ${isShown} ${root} ${days}`, () => (isShown ? cohortHistory(root, Number(days)) : Promise.resolve(null)), { of: `shares ${isShown} ${root}` });
  if (!isShown || (!answer && !problem)) return null;
  const fair = peers.length > 0 ? fairShare(weightOf(queue), peers.map(weightOf)) : null;
  return (
    <Panel title={`Share of cohort ${root}`} aside={<Choice label="Shares of the last" value={days} options={SPANS} onChange={setDays} />}>
      {problem && <Notice kind="empty">{problem.message}</Notice>}
      {fair !== null && (
        <p>
          By the weights {percent(fair)} of what the queues of cohort {queue.cohort} use, where all of them want more.
        </p>
      )}
      {answer && answer.queues.length === 0 && <Notice kind="empty">The cohort has used nothing.</Notice>}
      {answer && answer.queues.length > 0 && (
        <div class={isStale ? "stale" : undefined}>
          <ShareCharts history={answer} queue={queue} />
        </div>
      )}
    </Panel>
  );
}

function ShareCharts({ history, queue }: { history: CohortHistory; queue: Queue }) {
  const [window] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const { times, kept, to } = useMemo(() => timesOf(history.times), [history]);
  const { stack, shares, main } = useMemo(() => {
    const resources = resourcesOf(history.queues.flatMap((each) => each.parts.flatMap((part) => part.used)));
    const first = resources.find((each) => each.resource === "GPUs" || isGpuResource(each.resource)) ?? resources[0] ?? null;
    const text = (value: number) => amount(Math.round(value * 10) / 10, first?.unit ?? "items");
    const lines = history.queues.map((each) => ({ label: each.clusterQueue, values: kept.map((i) => first?.of(each.parts[i]?.used ?? []) ?? 0), text }));
    return {
      main: first,
      stack: largest(lines, queue.name),
      shares: sharesOf(history, queue.name)
        .flatMap(({ resource, parts }): ChartLine[] => {
          const known = resources.find((each) => each.key === resource);
          return known ? [{ label: known.resource, values: kept.map((i) => parts[i] ?? null), text: percent, look: "step" }] : [];
        }),
    };
  }, [history, queue.name]);
  const common = { times, end: to, from: times[0] ?? 0, to, window };
  return (
    <div class="chart-pair">
      {main && <TimeChart label={`${main.resource} by queue`} {...common} lines={stack} isStacked none="The cohort has used nothing." />}
      <TimeChart label={`Share of ${queue.name}`} {...common} lines={shares} steps={SHARES} none="The cohort has used nothing." />
    </div>
  );
}

// The lines with the greatest sums, the queue's own first; the others are one.
function largest(lines: Line[], own: string): Line[] {
  const used = lines.filter((line) => sumOf(line) > 0).sort((a, b) => Number(b.label === own) - Number(a.label === own) || sumOf(b) - sumOf(a));
  if (used.length <= MOST_STACKED) return used;
  const rest = used.slice(MOST_STACKED - 1);
  const values = rest[0]?.values.map((_, i) => rest.reduce((total, line) => total + (line.values[i] ?? 0), 0)) ?? [];
  return [...used.slice(0, MOST_STACKED - 1), { label: `${rest.length} others`, values, text: rest[0]?.text ?? count }];
}

// The turns of a workload, the latest first: what was asked of clouds for each, and what each waited for.
export function WorkloadHistory({ id, namespace, name, state }: { id: string; namespace: string; name: string; state: string }) {
  const { answer } = useAnswer("workloads", `history ${namespace}/${name} ${state}`, () => workloadHistory(namespace, name), { id });
  if (!answer || answer.attempts.length === 0) return null;
  return (
    <Panel title="Its turns">
      <Table
        heads={["Turn", "Queued", "Quota", "Capacity asked", "Provisioned", "Admitted", "Pods ready", "Ended", "How", "For", "Waited for"]}
        numbers={[0]}
        most={MOST_TURNS}
        rows={turnsOf(answer).reverse().map(({ turn, asked, provisioned, how, waits }) => [
          count(turn.attempt),
          <When at={turn.queued} />,
          <When at={turn.quotaReserved} />,
          <When at={asked} />,
          <When at={provisioned} />,
          <When at={turn.admitted} />,
          <When at={turn.podsReady} />,
          <When at={turn.ended} />,
          howWord(how) || "–",
          turn.preemptor.includes("/") ? <Link to={paths.workload(turn.preemptor)}>{turn.preemptor}</Link> : turn.preemptor || "–",
          waits.split(", ").map(reasonWord).join(", ") || "–",
        ])}
      />
      {answer.nodes.length > 0 && (
        <>
          <h3>Nodes that stood for it</h3>
          <Table
            heads={["Node", "Pool", "From", "Until", "GPUs", "USD an hour"]}
            most={MOST_TURNS}
            numbers={[4, 5]}
            rows={answer.nodes.map((each) => [
              each.node,
              each.pool || "–",
              <When at={each.from} />,
              each.stands ? "now" : <When at={each.until} />,
              count(each.gpus),
              each.usdPerHour === null ? "–" : String(each.usdPerHour),
            ])}
          />
        </>
      )}
    </Panel>
  );
}
