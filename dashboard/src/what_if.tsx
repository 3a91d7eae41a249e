// Quota of a queue by sliders: who would gain and lose, and the object to apply. Nothing is written.
import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { whatIf, type Problem, type Queue, type Quota, type WhatIf, type WhatIfJob, type WhatIfSide } from "./api";
import { useNextFocus } from "./focus";
import { amount, count, duration, isInfinite, plural } from "./format";
import { secret } from "./live";
import { Command, Notice, Panel, Table } from "./parts";
import { quotaText, slider } from "./quota";
import { plain } from "./words";

const MOST_SHOWN = 50;
const keyOf = (quota: Quota) => `${quota.flavor}/${quota.resource}`;

// `onAnswer`: null where the answer is not that of the sliders any more.
export function QuotaChanges({ queue, onAnswer }: { queue: Queue; onAnswer: (answer: WhatIf | null) => void }) {
  const quotas = (queue.flavors ?? []).filter((each) => !isInfinite(each.nominal, each.unit));
  const [wanted, setWanted] = useState<Record<string, number>>({});
  const [isBusy, setBusy] = useState(false);
  const [answer, setHeld] = useState<WhatIf | null>(null);
  const [problem, setProblem] = useState("");
  const { next, leave } = useNextFocus<HTMLParagraphElement>(answer);
  if (quotas.length === 0) return null;
  const setAnswer = (made: WhatIf | null) => {
    setHeld(made);
    onAnswer(made);
  };
  const changed = quotas.filter((each) => (wanted[keyOf(each)] ?? each.nominal) !== each.nominal);
  const set = (quota: Quota, value: number) => {
    setAnswer(null);
    setWanted({ ...wanted, [keyOf(quota)]: value });
  };
  const ask = () => {
    if (isBusy) return;
    leave();
    setBusy(true);
    setProblem("");
    const quota = changed.map((each) => `${queue.name}/${keyOf(each)}=${quotaText(wanted[keyOf(each)] ?? each.nominal, each.unit)}`);
    whatIf(secret.get(), { quota })
      .then(setAnswer, (error: Problem) => setProblem(error.message))
      .finally(() => setBusy(false));
  };
  return (
    <Panel title="What another quota would do">
      {quotas.map((each) => {
        const { most, step } = slider(each);
        const value = wanted[keyOf(each)] ?? each.nominal;
        return (
          <label key={keyOf(each)} class="slider">
            <span>
              {each.resource} in {each.flavor}
            </span>
            <input type="range" min={0} max={most} step={step} value={value} onInput={(event) => set(each, Number(event.currentTarget.value))} />
            <output>
              {amount(value, each.unit)}
              {value !== each.nominal && ` (now ${amount(each.nominal, each.unit)})`}
            </output>
          </label>
        );
      })}
      <button type="button" class="primary" disabled={changed.length === 0} aria-disabled={isBusy} onClick={ask}>
        {isBusy ? "Forecasting…" : "Who would gain and lose?"}
      </button>
      {problem && <Notice kind="problem">{problem}</Notice>}
      {answer && <Effects answer={answer} head={next} />}
    </Panel>
  );
}

// How one workload fares with the other quota.
export function Effect({ job }: { job: WhatIfJob | undefined }) {
  if (!job) return <span class="quiet">same</span>;
  return (
    <span class={job.worseOff ? "warn" : "good"} title={job.effect}>
      {job.worseOff ? "▼" : "▲"} {side(job.after).replace(/^in /, "")}
    </span>
  );
}

function side(value: WhatIfSide | null): string {
  if (value === null) return "–";
  return value.startSeconds === null ? "never" : value.startSeconds === 0 ? "now" : `in ${duration(value.startSeconds * 1000)}`;
}

function Effects({ answer, head }: { answer: WhatIf; head: RefObject<HTMLParagraphElement | null> }) {
  const better = answer.jobs.length - answer.worseOff;
  return (
    <>
      <p ref={head} class="headline" role="status" tabIndex={-1}>
        {answer.jobs.length === 0 ? "No job would start at another time." : `${plural(better, "job")} would gain, ${count(answer.worseOff)} would lose.`}
      </p>
      {answer.jobs.length > 0 && (
        <Table
          heads={["Job", "Effect", "Starts now", "Starts then", "Why"]}
          rows={answer.jobs.slice(0, MOST_SHOWN).map((job) => [
            `${job.namespace}/${job.name}`,
            <span class={job.worseOff ? "warn" : "good"}>
              {job.worseOff ? "▼" : "▲"} {job.effect}
            </span>,
            side(job.before),
            side(job.after),
            plain(job.after.reason ?? ""),
          ])}
        />
      )}
      <p class="quiet">
        The order of the queue above shows each start, too. From {plural(answer.draws, "draw")} of the scheduler in virtual time. {answer.leftOut.length > 0 && `Left out: ${answer.leftOut.join("; ")}.`}
      </p>
      <Command what="To apply it, save this as queue.yaml" text={answer.apply} />
      <Command what="and run" text="kubectl apply --server-side -f queue.yaml" />
    </>
  );
}
