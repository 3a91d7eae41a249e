// What the ledger tells: usage and waits of a queue over time, and the runs of a workload.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { cohortHistory, queueHistory, workloadHistory, type Queue } from "./api";
import { amount, count, duration, exact } from "./format";
import { scope, useAnswer } from "./live";
import { Notice, Panel, Table, When } from "./parts";
import { Link, paths, useAddressed } from "./router";
import { fairShare, sharesOf } from "./shares";
import { useStore } from "./store";
import { rootOf } from "./tree";
import { turnsOf } from "./turns";
import { Choice } from "./workloads";

export const SPANS: [string, string][] = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "30 days"],
];
const HEIGHT = 40;
const MOST_TURNS = 50; // at first; the latest

// Bars from the left to the right, a part of the period each.
// `full`: the value of a bar that fills the height; absent: the greatest value.
interface BarsOf {
  label: string;
  parts: { from: string }[];
  values: (number | null)[];
  text: (value: number) => string;
  full?: number;
}
export function Bars({ label, parts, values, text, full }: BarsOf) {
  const peak = Math.max(...values.map((value) => value ?? 0));
  const most = full ?? Math.max(peak, 1); // of the scale
  const words = peak > 0 ? `at most ${text(peak)}` : "none";
  return (
    <div class="bars">
      <span>{label}</span>
      <svg viewBox={`0 0 ${parts.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${words}`}>
        <rect class="bar-free" width={parts.length} height={HEIGHT} />
        {values.map((value, index) => {
          const height = (HEIGHT * (value ?? 0)) / most;
          const part = parts[index];
          return (
            <rect key={index} class="bar-used" x={index + 0.08} width={0.84} y={HEIGHT - height} height={height}>
              <title>{part ? `${exact(part.from)}: ${value === null ? "nothing" : text(value)}` : ""}</title>
            </rect>
          );
        })}
      </svg>
      <span class="figure">{words}</span>
    </div>
  );
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

export function QueueHistory({ name }: { name: string }) {
  const namespace = useStore(scope);
  const [days, setDays] = useAddressed("days", "1");
  const { answer, problem } = useAnswer("queues", `history ${name} ${days} ${namespace}`, () => queueHistory(name, Number(days), namespace));
  let body: ComponentChildren = <Notice kind="loading">Loading…</Notice>;
  if (problem) body = <Notice kind="empty">{problem.message}</Notice>;
  if (answer) {
    const parts = answer.parts;
    const resources = [...new Map(parts.flatMap((part) => part.used.map((use) => [use.resource, use.unit] as const)))];
    const waits = (value: number) => duration(value * 1000);
    const lines = [
      { label: "Wait, median", values: parts.map((part) => part.p50WaitSeconds), text: waits },
      { label: "Wait, 9 of 10", values: parts.map((part) => part.p90WaitSeconds), text: waits },
      { label: "Admitted", values: parts.map((part) => part.admitted), text: count },
      { label: "Preempted", values: parts.map((part) => part.preempted), text: count },
      ...resources.map(([resource, unit]) => ({
        label: `${resource} used`,
        values: parts.map((part) => part.used.find((use) => use.resource === resource)?.amount ?? 0),
        text: (value: number) => amount(value, unit),
      })),
    ];
    body = (
      <>
        {lines.map((line) => (
          <Bars key={line.label} parts={parts} {...line} />
        ))}
        <Axis parts={parts} lines={lines} />
      </>
    );
  }
  return (
    <Panel title="History" aside={<Choice label="Of the last" value={days} options={SPANS} onChange={setDays} />}>
      {body}
    </Panel>
  );
}

const weightOf = (queue: Queue) => queue.fairWeightBillionths ?? 1_000_000_000; // 1 where none is set
const percent = (share: number) => `${Math.round(100 * share)} %`;

// How the use of the tree of cohorts was shared, beside the share that the weights give to the queue
// within its cohort (`peers`: the other queues there). For readers of all namespaces: others do not
// see all that was used.
export function ShareHistory({ queue, peers }: { queue: Queue; peers: Queue[] }) {
  const isShown = useStore(scope) === "" && queue.cohort !== "";
  const [days, setDays] = useAddressed("shareDays", "1");
  const root = rootOf(queue);
  const { answer, problem } = useAnswer("queues", `shares ${isShown} ${root} ${days}`, () => (isShown ? cohortHistory(root, Number(days)) : Promise.resolve(null)));
  if (!isShown || (!answer && !problem)) return null;
  const fair = peers.length > 0 ? fairShare(weightOf(queue), peers.map(weightOf)) : null;
  const shares = answer ? sharesOf(answer, queue.name) : [];
  const lines = shares.map(({ resource, parts }) => ({ label: resource, values: parts, text: percent, full: 1 }));
  return (
    <Panel title={`Share of cohort ${root}`} aside={<Choice label="Shares of the last" value={days} options={SPANS} onChange={setDays} />}>
      {problem && <Notice kind="empty">{problem.message}</Notice>}
      {fair !== null && (
        <p>
          By the weights {percent(fair)} of what the queues of cohort {queue.cohort} use, where all of them want more.
        </p>
      )}
      {answer && shares.length === 0 && <Notice kind="empty">The cohort has used nothing.</Notice>}
      {answer && lines.map((line) => <Bars key={line.label} parts={answer.times} {...line} />)}
      {answer && lines.length > 0 && <Axis parts={answer.times} lines={lines} />}
    </Panel>
  );
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
          how || "–",
          turn.preemptor.includes("/") ? <Link to={paths.workload(turn.preemptor)}>{turn.preemptor}</Link> : turn.preemptor || "–",
          waits || "–",
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
