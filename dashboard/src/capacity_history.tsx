// What was asked of clouds over time, by class and by shape, the nodes of pools, and prices: from
// the ledger.
import { capacityHistory, type CapacityCounts, type CapacityHistory, type CapacityLine } from "./api";
import type { HistoryTime, PoolLine } from "./berth_read_api";
import { TimeChart } from "./chart";
import { count, duration } from "./format";
import { HeatMap } from "./heat_map";
import { Axis, Bars, SPANS } from "./history";
import { scope, useAnswer } from "./live";
import { poolCost, poolLines } from "./pool_parts";
import { Notice, Panel, Skeleton, Table, When } from "./parts";
import { useAddressed } from "./router";
import { useStore } from "./store";
import { Choice } from "./workloads";

interface Measure {
  name: string;
  of: (counts: CapacityCounts) => number | null;
  text: (value: number) => string;
}
const seconds = (value: number) => duration(value * 1000);
const MEASURES: Record<string, Measure> = {
  asked: { name: "requests made", of: (counts) => counts.asked, text: count },
  provisioned: { name: "requests granted", of: (counts) => counts.provisioned, text: count },
  open: { name: "requests that wait", of: (counts) => counts.open, text: count },
  failed: { name: "requests that failed", of: (counts) => counts.failed, text: count },
  stockouts: { name: "stock-outs", of: (counts) => counts.stockouts, text: count },
  p50: { name: "wait, median", of: (counts) => counts.p50WaitSeconds, text: seconds },
  p90: { name: "wait, 9 of 10", of: (counts) => counts.p90WaitSeconds, text: seconds },
};
const CHOICES = Object.entries(MEASURES).map(([key, each]): [string, string] => [key, each.name]);
const ASKED = MEASURES["asked"] as Measure;
const NO_SHAPE = "of no known job";

export function CapacityOverTime() {
  const namespace = useStore(scope);
  const [days, setDays] = useAddressed("days", "7");
  const [chosen, setChosen] = useAddressed("show", "provisioned");
  const { answer, problem, isStale } = useAnswer("capacityrequests", `capacity history ${days} ${namespace}`, () => capacityHistory(Number(days), namespace), { of: `capacity history ${namespace}` });
  return (
    <Panel
      title="Over time"
      aside={
        <span class="filters">
          <Choice label="Show" value={chosen} options={CHOICES} onChange={setChosen} />
          <Choice label="Of the last" value={days} options={SPANS} onChange={setDays} />
        </span>
      }
    >
      {problem && <Notice kind="empty">{problem.message}</Notice>}
      {!problem && !answer && <Skeleton />}
      {answer && (
        <div class={isStale ? "stale" : undefined}>
          <Shown history={answer} measure={MEASURES[chosen] ?? ASKED} />
        </div>
      )}
    </Panel>
  );
}

function PoolChart({ line, parts }: { line: PoolLine; parts: HistoryTime[] }) {
  const seconds = (time: string) => Date.parse(time) / 1000;
  const name = line.pool || "no pool";
  const cost = poolCost(line);
  return (
    <>
      <h4>
        {name}
        {cost && <span class="quiet"> {cost} for jobs</span>}
      </h4>
      <TimeChart label={`Nodes of ${name}`} times={parts.map((part) => seconds(part.from))} end={seconds(parts.at(-1)?.to ?? "")} lines={poolLines(line)} isStacked />
    </>
  );
}

function Shown({ history, measure }: { history: CapacityHistory; measure: Measure }) {
  const lines = (title: string, of: CapacityLine[], none: string) =>
    of.length > 0 && (
      <>
        <h3>
          {title}: {measure.name}
        </h3>
        {of.map((line) => (
          <Bars key={line.key} label={line.key || none} parts={history.times} values={line.parts.map(measure.of)} text={measure.text} />
        ))}
      </>
    );
  const values = [
    ...[...history.classes, ...history.shapes].map((line) => ({ label: line.key || "none", values: line.parts.map(measure.of), text: measure.text })),
  ];
  return (
    <>
      {history.classes.length === 0 && <Notice kind="empty">Nothing was asked for in this time.</Notice>}
      {lines("By class", history.classes, "no class")}
      {lines("By shape", history.shapes, NO_SHAPE)}
      {history.pools.length > 0 && (
        <>
          <h3>Nodes of pools</h3>
          {history.pools.map((line) => (
            <PoolChart key={line.pool} line={line} parts={history.times} />
          ))}
        </>
      )}
      <Axis parts={history.times} lines={values} />
      <HeatMap title="By shape and hour of the day: requests granted" lines={history.shapes} none={NO_SHAPE} />
      {history.linesLeftOut > 0 && <p class="quiet">{count(history.linesLeftOut)} further classes, shapes and pools are left out.</p>}
      {history.prices.length > 0 && (
        <>
          <h3>Prices of a node</h3>
          <Table
            heads={["Flavor", "Since", "USD an hour"]}
            numbers={[2]}
            rows={history.prices.map((each) => [each.flavor, <When at={each.since} />, each.usdPerHour === null ? "none" : String(each.usdPerHour)])}
          />
        </>
      )}
    </>
  );
}
