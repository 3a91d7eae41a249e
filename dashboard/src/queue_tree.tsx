// Queues as a tree of cohorts, with bars of used, lent and borrowed quota.
import { useMemo, useState } from "preact/hooks";
import type { Queue } from "./api";
import { count, plural } from "./format";
import { UseBar } from "./parts";
import { Link, paths } from "./router";
import { busiestOf, waitingIn, wholeBranch, type Cohort } from "./tree";

const MOST_OPEN = 40; // queues; of more, cohorts are closed at first, but for the only one at the top
const MOST_SHOWN = 30; // cohorts and queues of one branch at first

function queuesOf(cohort: Cohort): number {
  return [...cohort.cohorts.values()].reduce((sum, below) => sum + queuesOf(below), cohort.queues.length);
}

export function QueueTree({ root }: { root: Cohort }) {
  return <Branch cohort={root} depth={0} isOpen={queuesOf(root) <= MOST_OPEN} />;
}

// The names give way to the depth, so that all bars stand in one column.
function Branch({ cohort, depth, isOpen }: { cohort: Cohort; depth: number; isOpen: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const all = cohort.cohorts.size + cohort.queues.length;
  const { cohorts, queues } = useMemo(() => (isWhole ? wholeBranch(cohort) : busiestOf(cohort, MOST_SHOWN)), [cohort, isWhole]);
  return (
    <>
      <ul class="tree" style={{ "--depth": depth }}>
        {cohorts.map((below) => (
          <li key={`cohort ${below.name}`}>
            <Fold cohort={below} depth={depth} isOpen={isOpen || (depth === 0 && all === 1)} areLowerOpen={isOpen} />
          </li>
        ))}
        {queues.map((queue) => (
          <li key={queue.name}>
            <QueueLine queue={queue} />
          </li>
        ))}
      </ul>
      {!isWhole && all > MOST_SHOWN && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {count(all)}, not only those where most waits
        </button>
      )}
    </>
  );
}

// What is below a closed cohort is not drawn.
function Fold({ cohort, depth, isOpen: isOpenAtFirst, areLowerOpen }: { cohort: Cohort; depth: number; isOpen: boolean; areLowerOpen: boolean }) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <CohortLine cohort={cohort} />
      </summary>
      {isOpen && <Branch cohort={cohort} depth={depth + 1} isOpen={areLowerOpen} />}
    </details>
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
  const waiting = waitingIn({ name, row, ...below });
  return (
    <div class="queue cohort">
      <span class="queue-name">{name} (cohort)</span>
      <span class="figure">
        {plural(number, "queue")} · {count(waiting)} waiting
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
