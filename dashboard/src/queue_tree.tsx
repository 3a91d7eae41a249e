// Queues as a tree of cohorts, with bars of used, lent and borrowed quota.
import type { Queue } from "./api";
import { count, plural } from "./format";
import { UseBar } from "./parts";
import { Link, paths } from "./router";
import type { Cohort } from "./tree";

const MOST_OPEN = 40; // queues; of more, the lower cohorts are closed at first

function queuesOf(cohort: Cohort): number {
  return [...cohort.cohorts.values()].reduce((sum, below) => sum + queuesOf(below), cohort.queues.length);
}

export function QueueTree({ root }: { root: Cohort }) {
  return <Branch cohort={root} depth={0} isOpen={queuesOf(root) <= MOST_OPEN} />;
}

// The names give way to the depth, so that all bars stand in one column.
function Branch({ cohort, depth, isOpen }: { cohort: Cohort; depth: number; isOpen: boolean }) {
  return (
    <ul class="tree" style={{ "--depth": depth }}>
      {[...cohort.cohorts.values()].map((below) => (
        <li key={`cohort ${below.name}`}>
          <details open={isOpen || depth === 0}>
            <summary>
              <CohortLine cohort={below} />
            </summary>
            <Branch cohort={below} depth={depth + 1} isOpen={isOpen} />
          </details>
        </li>
      ))}
      {cohort.queues.map((queue) => (
        <li key={queue.name}>
          <QueueLine queue={queue} />
        </li>
      ))}
    </ul>
  );
}

export function QueueLine({ queue }: { queue: Pick<Queue, "name" | "strategy" | "stopPolicy" | "inactive" | "waiting" | "running" | "resources"> }) {
  return (
    <div class="queue">
      <span class="queue-name">
        <Link to={paths.queue(queue.name)}>{queue.name}</Link>
        {queue.strategy === "StrictFIFO" && <small> strict order</small>}
        {queue.stopPolicy !== "None" && <small class="warn"> {queue.stopPolicy}</small>}
        {queue.inactive !== "" && <small class="warn"> inactive</small>}
      </span>
      <span class="figure">
        {count(queue.waiting)} waiting · {count(queue.running)} running
      </span>
      <span class="uses">
        {queue.resources.map((use) => (
          <UseBar key={use.resource} use={use} />
        ))}
      </span>
    </div>
  );
}

// The quota and the use of all that is below, with the cohort's own quota.
function CohortLine({ cohort: { name, row, ...below } }: { cohort: Cohort }) {
  const number = queuesOf({ name, row, ...below });
  return (
    <div class="queue cohort">
      <span class="queue-name">{name} (cohort)</span>
      <span class="figure">
        {plural(number, "queue")}
        {row && row.weightedShare !== null ? ` · share ${count(row.weightedShare)}` : ""}
      </span>
      <span class="uses">
        {(row?.resources ?? []).map((use) => (
          <UseBar key={use.resource} use={use} />
        ))}
      </span>
    </div>
  );
}
