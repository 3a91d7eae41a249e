// Accounts of a period, from the ledger: who used, waited and lost how much.
import { useMemo, useState } from "preact/hooks";
import { Problem, report, reportFile, reportHistory, type Report, type ReportHistory, type ReportLine } from "./api";
import { columnsOf, costText, GPUS, money, mostUsed } from "./accounts";
import { TimeChart } from "./chart";
import { count } from "./format";
import { timesOf } from "./history";
import { scope, useAnswer, useFresh } from "./live";
import { firstDrawn, hours, linesOf, measuresOf, resourceWord, type Measure } from "./over_time";
import { Notice, Panel, Skeleton, When } from "./parts";
import { address, change, useAddressed } from "./router";
import { useStore } from "./store";
import { Choice } from "./workloads";

const GROUPS: [string, string][] = [
  ["clusterqueue", "ClusterQueue"],
  ["queue", "LocalQueue"],
  ["namespace", "namespace"],
  ["team", "team"],
  ["user", "user"],
  ["pool", "pool of nodes"],
  ["priority", "priority"],
  ["cause", "cause of waits and ends"],
];
const SPANS: [string, string][] = [
  ["1", "a day"],
  ["7", "a week"],
  ["30", "30 days"],
  ["90", "90 days"],
];

export function ReportsView() {
  const { query } = useStore(address);
  const namespace = useStore(scope);
  const by = query.get("by") ?? "clusterqueue";
  const days = query.get("days") ?? "7";
  const key = JSON.stringify([by, days, namespace]);
  const [held, setHeld] = useState<{ key: string; namespace: string; report?: Report; problem?: Problem } | null>(null);
  useFresh(null, key, 0, async (isCurrent) => {
    try {
      const made = await report({ by, days, namespace });
      if (isCurrent()) setHeld({ key, namespace, report: made });
      return null;
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 401) throw error;
      if (isCurrent()) setHeld({ key, namespace, problem: error });
      return error;
    }
  });
  // The accounts by another choice are shown until those by this one come.
  const current = held?.namespace === namespace ? held : null;
  const isStale = current !== null && current.key !== key;
  const set = (name: string, value: string) => change({ [name]: value });
  return (
    <>
      <h1>Reports</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice label="A line for each" value={by} options={GROUPS} onChange={(value) => set("by", value)} />
        <Choice label="Of the last" value={days} options={SPANS} onChange={(value) => set("days", value)} />
        <a href={reportFile({ by, days, namespace })} download="report.csv">
          as CSV
        </a>
        <button type="button" onClick={() => print()}>
          Print
        </button>
      </form>
      {!current && <Skeleton />}
      {current?.problem && <Notice kind="problem">{current.problem.message}</Notice>}
      {current?.report && current.report.lines.length > 0 && by !== "cause" && <OverTime by={by} days={days} namespace={namespace} />}
      {current?.report && (
        <div class={isStale ? "stale" : undefined}>
          <Lines report={current.report} />
        </div>
      )}
    </>
  );
}

// One measure of the report for each part of its time, by line.
function OverTime({ by, days, namespace }: { by: string; days: string; namespace: string }) {
  const { answer, problem, isStale } = useAnswer(null, `report history ${by} ${days} ${namespace}`, () => reportHistory(by, Number(days), namespace), { of: `report history ${namespace}` });
  const [chosen, setChosen] = useAddressed("show", "");
  const measures = useMemo(() => (answer ? measuresOf(answer) : []), [answer]);
  const measure = measures.find((each) => each.key === chosen) ?? measures[0];
  if (problem) return <Notice kind="problem">{problem.message}</Notice>;
  if (!answer) return <Skeleton />;
  if (!measure) return null;
  const options = measures.map((each): [string, string] => [each.key, each.name]);
  return (
    <Panel title="Over time" aside={<Choice label="Show" value={measure.key} options={options} onChange={setChosen} />}>
      <div class={isStale ? "stale" : undefined}>
        <OverTimeChart history={answer} measure={measure} />
      </div>
    </Panel>
  );
}

function OverTimeChart({ history, measure }: { history: ReportHistory; measure: Measure }) {
  const { times, kept, to } = useMemo(() => timesOf(history.times), [history]);
  const lines = useMemo(() => linesOf(history, measure).map((line) => ({ ...line, values: kept.map((i) => line.values[i] ?? null) })), [history, measure.key]);
  const from = times[firstDrawn(lines)] ?? 0;
  return <TimeChart label={`${measure.name}, by line`} times={times} lines={lines} end={to} from={from} to={to} isStacked height={220} />;
}

const MOST_LINES = 100;

// "12 cost 21 h, claimed 6 h": what the stops cost, and at most by the claims of their jobs.
function stopsText({ stops }: ReportLine): string {
  return stops.measured === 0 ? "–" : `${count(stops.measured)} cost ${hours(stops.lostHours)} h, claimed ${hours(stops.claimedHours)} h`;
}

function Lines({ report: { lines, from } }: { report: Report }) {
  const { resources, isCharged, isPriced } = columnsOf(lines);
  const heading = ["", "Workloads", "Attempts", "Waited, hours"];
  for (const resource of resources) heading.push(`${resourceWord(resource)} hours used`, "destroyed");
  const hasStops = lines.some((line) => line.stops.measured > 0);
  if (hasStops) heading.push("Stops with checkpoints");
  if (isCharged) heading.push("Node hours charged", "GPU hours charged");
  if (isPriced) heading.push("USD", "of it measured");
  const [isWhole, setWhole] = useState(false);
  if (lines.length === 0) return <Notice kind="empty">Nothing has happened in this time.</Notice>;
  const shown = isWhole ? lines : mostUsed(lines, resources[0], MOST_LINES);
  const cells = (line: ReportLine) => [
    count(line.workloads),
    count(line.attempts),
    hours(line.waitedHours),
    ...resources.flatMap((resource) => [hours(line.usedHours[resource] ?? 0), hours(line.destroyedHours[resource] ?? 0)]),
    ...(hasStops ? [stopsText(line)] : []),
    ...(isCharged ? [hours(line.chargedHours["nodes"] ?? 0), hours(line.chargedHours[GPUS] ?? 0)] : []),
    ...(isPriced ? [costText(line), money(line.measuredUsd)] : []),
  ];
  return (
    <Panel title="Accounts">
      <p class="quiet">
        From <When at={from} /> until now. Destroyed: what attempts used that were preempted or evicted.
        {isCharged && " Charged: the time of nodes, with boots and idle times."}
        {hasStops && " Stops of jobs with checkpoints: what they cost, and at most by the claims of the jobs."}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of accounts">
        <table>
          <thead>
            <tr>
              {heading.map((each, i) => (i === 0 ? <td key={i} /> : <th key={i} scope="col" class="number">{each}</th>))}
            </tr>
          </thead>
          <tbody>
            {shown.map((line) => (
              <tr key={line.key}>
                <th scope="row">{line.key || "none"}</th>
                {cells(line).map((cell, i) => (
                  <td key={i} class="number">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {shown.length < lines.length && (
          <button type="button" onClick={() => setWhole(true)}>
            Show all {count(lines.length)} lines, not only those with most use
          </button>
        )}
      </div>
    </Panel>
  );
}
