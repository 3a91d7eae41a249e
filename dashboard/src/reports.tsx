// Accounts of a period, from the ledger: who used, waited and lost how much.
import { useEffect, useState } from "preact/hooks";
import { Problem, report, reportFile, type Report, type ReportLine } from "./api";
import { count } from "./format";
import { scope, signedOut } from "./live";
import { Notice, Panel, When } from "./parts";
import { address, go, paths } from "./router";
import { useStore } from "./store";
import { Choice } from "./workloads";

const GROUPS: [string, string][] = [
  ["clusterqueue", "ClusterQueue"],
  ["queue", "LocalQueue"],
  ["namespace", "namespace"],
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
  const [held, setHeld] = useState<{ key: string; report?: Report; problem?: Problem } | null>(null);
  useEffect(() => {
    let ended = false;
    report({ by, days, namespace }).then(
      (made) => !ended && setHeld({ key, report: made }),
      (error: Problem) => {
        if (error.status === 401) signedOut.set(true);
        else if (!ended) setHeld({ key, problem: error });
      },
    );
    return () => {
      ended = true;
    };
  }, [key]);
  const current = held?.key === key ? held : null;
  const set = (name: string, value: string) => go(paths.reports({ by, days, [name]: value }), "replace");
  return (
    <>
      <h1>Reports</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice label="A line for each" value={by} options={GROUPS} onChange={(value) => set("by", value)} />
        <Choice label="Of the last" value={days} options={SPANS} onChange={(value) => set("days", value)} />
        <a href={reportFile({ by, days, namespace })} download="report.csv">
          as CSV
        </a>
      </form>
      {!current && <Notice kind="loading">Loading…</Notice>}
      {current?.problem && <Notice kind="problem">{current.problem.message}</Notice>}
      {current?.report && <Lines report={current.report} />}
    </>
  );
}

function hours(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 0 });
}

function Lines({ report: { lines, from, to } }: { report: Report }) {
  const resources = [...new Set(lines.flatMap((line) => Object.keys(line.usedHours)))].sort();
  const heading = ["", "Workloads", "Attempts", "Waited, hours"];
  for (const resource of resources) heading.push(`${resource} hours used`, "destroyed");
  if (lines.length === 0) return <Notice kind="empty">Nothing has happened in this time.</Notice>;
  const cells = (line: ReportLine) => [
    count(line.workloads),
    count(line.attempts),
    hours(line.waitedHours),
    ...resources.flatMap((resource) => [hours(line.usedHours[resource] ?? 0), hours(line.destroyedHours[resource] ?? 0)]),
  ];
  return (
    <Panel title="Accounts">
      <p class="quiet">
        From <When at={from} /> to <When at={to} />. Destroyed: what attempts used that were preempted or evicted.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of accounts">
        <table>
          <thead>
            <tr>
              {heading.map((each, i) => (i === 0 ? <td key={i} /> : <th key={i} scope="col" class="number">{each}</th>))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
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
      </div>
    </Panel>
  );
}
