// What the ledger tells: usage and waits of a queue over time, and the runs of a workload.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { queueHistory, workloadHistory, type HistoryPart, type Queue } from "./api";
import { amount, count, duration, exact } from "./format";
import { scope, useAnswer } from "./live";
import { Notice, Panel, Table, When } from "./parts";
import { Link, paths } from "./router";
import { fairShare, sharesOf } from "./shares";
import { useStore } from "./store";
import { Choice } from "./workloads";

const SPANS: [string, string][] = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "30 days"],
];
const HEIGHT = 40;

// Bars from the left to the right, a part of the period each.
// `full`: the value of a bar that fills the height; absent: the greatest value.
interface BarsOf {
  label: string;
  parts: HistoryPart[];
  values: (number | null)[];
  text: (value: number) => string;
  full?: number;
}
function Bars({ label, parts, values, text, full }: BarsOf) {
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

export function QueueHistory({ name }: { name: string }) {
  const namespace = useStore(scope);
  const [days, setDays] = useState("1");
  const { answer, problem } = useAnswer("queues", `history ${name} ${days} ${namespace}`, () => queueHistory(name, Number(days), namespace));
  let body: ComponentChildren = <Notice kind="loading">Loading…</Notice>;
  if (problem) body = <Notice kind="empty">{problem.message}</Notice>;
  if (answer) {
    const parts = answer.parts;
    const resources = [...new Map(parts.flatMap((part) => part.used.map((use) => [use.resource, use.unit] as const)))];
    const waits = (value: number) => duration(value * 1000);
    body = (
      <>
        <Bars label="Wait, median" parts={parts} values={parts.map((part) => part.p50WaitSeconds)} text={waits} />
        <Bars label="Wait, 9 of 10" parts={parts} values={parts.map((part) => part.p90WaitSeconds)} text={waits} />
        <Bars label="Admitted" parts={parts} values={parts.map((part) => part.admitted)} text={count} />
        <Bars label="Preempted" parts={parts} values={parts.map((part) => part.preempted)} text={count} />
        {resources.map(([resource, unit]) => (
          <Bars
            key={resource}
            label={`${resource} used`}
            parts={parts}
            values={parts.map((part) => part.used.find((use) => use.resource === resource)?.amount ?? 0)}
            text={(value) => amount(value, unit)}
          />
        ))}
      </>
    );
  }
  return (
    <Panel title="History" aside={<Choice label="Of the last" value={days} options={SPANS} onChange={setDays} />}>
      {body}
    </Panel>
  );
}

const MOST_PEERS = 16; // whose histories are read
const weightOf = (queue: Queue) => queue.fairWeightBillionths ?? 1_000_000_000; // 1 where none is set
const percent = (share: number) => `${Math.round(100 * share)} %`;

// How the use of a cohort was shared, beside the share that the weights give to the queue. For
// readers of all namespaces: others do not see all that was used.
export function ShareHistory({ queue, peers }: { queue: Queue; peers: Queue[] }) {
  const namespace = useStore(scope);
  const [days, setDays] = useState("1");
  const names = [queue, ...peers].map((each) => each.name);
  const isShown = namespace === "" && peers.length > 0 && peers.length <= MOST_PEERS;
  const { answer, problem } = useAnswer("queues", `shares ${isShown} ${names.join(" ")} ${days}`, () =>
    isShown ? Promise.all(names.map((name) => queueHistory(name, Number(days), ""))) : Promise.resolve([]),
  );
  if (!isShown || problem || !answer) return null;
  const [own, ...others] = answer.map((each) => each.parts);
  const fair = fairShare(weightOf(queue), peers.map(weightOf));
  const shares = sharesOf(own ?? [], others);
  return (
    <Panel title={`Share of cohort ${queue.cohort}`} aside={<Choice label="Shares of the last" value={days} options={SPANS} onChange={setDays} />}>
      {fair !== null && <p>By the weights {percent(fair)} of what the queues of the cohort use, where all of them want more.</p>}
      {shares.length === 0 && <Notice kind="empty">The cohort has used nothing.</Notice>}
      {shares.map(({ resource, parts }) => (
        <Bars key={resource} label={resource} parts={own ?? []} values={parts} text={percent} full={1} />
      ))}
    </Panel>
  );
}

export function WorkloadHistory({ namespace, name, state }: { namespace: string; name: string; state: string }) {
  const { answer } = useAnswer("workloads", `history ${namespace}/${name} ${state}`, () => workloadHistory(namespace, name));
  if (!answer || answer.attempts.length === 0) return null;
  return (
    <Panel title="Its turns">
      <Table
        heads={["Turn", "Queued", "Quota", "Admitted", "Pods ready", "Ended", "How", "For"]}
        numbers={[0]}
        rows={answer.attempts.map((each) => [
          count(each.attempt),
          <When at={each.queued} />,
          <When at={each.quotaReserved} />,
          <When at={each.admitted} />,
          <When at={each.podsReady} />,
          <When at={each.ended} />,
          each.outcome || "–",
          each.preemptor.includes("/") ? <Link to={paths.workload(each.preemptor)}>{each.preemptor}</Link> : each.preemptor || "–",
        ])}
      />
    </Panel>
  );
}
