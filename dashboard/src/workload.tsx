// One workload: why it waits, the steps behind and ahead, when it starts, and commands to copy.
import { cost as readCost, workload as read, type ForecastHits, type Reason, type Step, type StoryPod, type Workload, type WorkloadStory } from "./api";
import { amount, count, plural } from "./format";
import { ActionButton, Outcome, PriorityAction, useAct } from "./actions";
import { WorkloadHistory } from "./history";
import { Icon, type IconName } from "./icons";
import { useAnswer } from "./live";
import { Age, clock, Command, Eta, interval, Notice, Panel, Skeleton, State, Table, When, Words } from "./parts";
import { WorkloadObjects } from "./objects";
import { Link, paths } from "./router";
import { shellWord } from "./shell";
import { sparedGroups } from "./spared";
import { useStore } from "./store";
import { TimelinePanel } from "./timeline_panel";
import { causeLabel, lineOf, plain, policyWords, reasonWord, remarkOf } from "./words";

const STORY_PAUSE_MS = 500;
const MOST_PODS = 50; // at first
const MARKS: Partial<Record<string, IconName>> = { done: "succeeded", now: "hourglass", ahead: "ahead", failed: "failed" };
const MOST_NAMED_NODES = 3;

export function WorkloadView({ namespace, name }: { namespace: string; name: string }) {
  const id = `${namespace}/${name}`;
  const { answer, problem } = useAnswer("workloads", id, () => read(namespace, name), { id, pause: STORY_PAUSE_MS });
  if (problem) {
    return (
      <>
        <h1>{id}</h1>
        <Notice kind="problem">
          <p>{problem.status === 404 ? "There is no such workload, or it has been deleted." : problem.message}</p>
          <Link to={paths.workloads()}>All workloads</Link>
        </Notice>
      </>
    );
  }
  if (!answer) {
    return (
      <>
        <h1>{id}</h1>
        <Skeleton />
      </>
    );
  }
  return <Told {...answer} />;
}

function Told({ workload, before, story, pods, podsLeftOut, forecasts }: WorkloadStory) {
  const waits = workload.waitingSince !== null;
  return (
    <>
      <h1>
        {workload.namespace}/{workload.name}
      </h1>
      <Headline workload={workload} story={story} pods={pods} before={before} />
      <Actions workload={workload} />
      <TimelinePanel id={workload.id} namespace={workload.namespace} name={workload.workload} state={workload.state} eta={workload.eta} waits={waits} />
      <div class="columns">
        <div>
          <Panel title="From the queue to the run">
            <ol class="steps">
              {story.steps.map((step) => (
                <StepItem key={step.name} step={{ ...step, lines: linesOf(step.lines, workload) }} />
              ))}
            </ol>
            {story.givesUp && (
              <p>
                <Words text={story.givesUp.startsWith("never") ? `It does not give up by itself${story.givesUp.slice("never".length)}` : `It gives up: ${story.givesUp}`} />
              </p>
            )}
            {story.notSeen.length > 0 && <p class="quiet">Not seen: {story.notSeen.join("; ")}</p>}
          </Panel>
          {workload.reason && <Details reason={workload.reason} kept={workload.notPreempted ?? []} />}
        </div>
        <div>
          {waits && <Starts workload={workload} before={before} hits={forecasts} />}
          {story.wouldStartIf.length > 0 && (
            <Panel title="It would start if">
              <ul class="bullets">
                {story.wouldStartIf.map((each) => (
                  <li key={each}>
                    <Words text={each} />
                  </li>
                ))}
              </ul>
            </Panel>
          )}
          <Pods pods={pods} leftOut={podsLeftOut} />
          <Facts workload={workload} />
          <Commands workload={workload} pod={pods[0]?.name} />
        </div>
      </div>
      <WorkloadObjects workload={workload} pods={pods} />
      <WorkloadHistory id={workload.id} namespace={workload.namespace} name={workload.workload} state={workload.state} />
    </>
  );
}

// The state in one sentence: why it waits and behind whom, or where it runs.
function Headline({ workload, story, pods, before }: Pick<WorkloadStory, "workload" | "story" | "pods" | "before">) {
  const waits = workload.waitingSince !== null;
  const level = workload.state === "failed" ? "bad" : workload.cause === "misconfigured" ? "bad" : waits ? "warn" : "good";
  const nodes = [...new Set(pods.flatMap((each) => (each.node !== null && each.phase === "Running" ? [each.node] : [])))];
  return (
    <div class={`verdict verdict-long verdict-${level}`}>
      <p class="headline">
        <State state={workload.state} size={18} />
        {waits ? (
          <>
            {" "}
            for <Age since={workload.waitingSince} />: {causeLabel(workload.cause)}
          </>
        ) : (
          <>
            : <Words text={story.headline} />
          </>
        )}
        {workload.state === "running" && nodes.length > 0 && (
          <>
            {" "}
            on {nodes.slice(0, MOST_NAMED_NODES).join(", ")}
            {nodes.length > MOST_NAMED_NODES && ` and ${count(nodes.length - MOST_NAMED_NODES)} more nodes`}
          </>
        )}
      </p>
      {waits && (
        <p title={workload.remark}>
          <Words text={sentence(remarkOf(workload))} />
          {before !== null && before > 0 && workload.state === "waiting" && ` ${plural(before, "workload")} in the queue ${before === 1 ? "goes" : "go"} first.`}
        </p>
      )}
    </div>
  );
}

// Lines of a step that no panel of the view repeats.
function linesOf(lines: string[], { reason, notPreempted }: Workload): string[] {
  const repeats = (line: string) =>
    ((reason?.history?.length ?? 0) > 0 && /^(earlier: |found \d+ times)/.test(line)) ||
    ((notPreempted?.length ?? 0) > 0 && line.startsWith("not preempted: ")) ||
    (Boolean(reason?.mayPreempt) && line.startsWith("the queue may preempt "));
  return lines.filter((line) => !repeats(line));
}

function sentence(text: string): string {
  return text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?"]$/.test(text) ? "" : "."}`;
}

function Pods({ pods, leftOut }: { pods: StoryPod[]; leftOut: number }) {
  if (pods.length === 0) return null;
  return (
    <Panel title="Its pods">
      <Table
        heads={["Pod", "Phase", "Node"]}
        most={MOST_PODS}
        rows={pods.map((each) => [each.name, each.phase, each.node === null ? "none yet" : <Link to={paths.topology({ node: each.node })}>{each.node}</Link>])}
      />
      {leftOut > 0 && <p class="quiet">{plural(leftOut, "further pod")} are left out.</p>}
    </Panel>
  );
}

function StepItem({ step }: { step: Step }) {
  return (
    <li class={`step step-${step.state}`}>
      <span class="step-mark" role="img" aria-label={step.state}>
        <Icon name={MARKS[step.state] ?? "ahead"} size={18} />
      </span>
      <div>
        <b>{step.name}</b> {step.since && <When at={step.since} />}
        {step.lines.map((line) => (
          <p key={line}>
            <Words text={lineOf(line)} />
          </p>
        ))}
      </div>
    </li>
  );
}

// If forecasts are good, 50 of 100 starts come by the median, and 90 of 100 by the later end.
function HitRate({ hits }: { hits: ForecastHits }) {
  const byMedian = hits.byP10 + hits.byP50;
  const byLate = byMedian + hits.byP90;
  const starts = byLate + hits.later;
  const rate = (part: number) => `${Math.round((100 * part) / starts)} %`;
  return (
    <p class="quiet">
      {starts === 0 ? (
        <>No forecast has been judged since </>
      ) : (
        <>
          Of {plural(starts, "start")} with a forecast {rate(byMedian)} came by the median (50 % are due), {rate(byLate)} by the later end (90 % are due), since{" "}
        </>
      )}
      <When at={hits.since} />.
    </p>
  );
}

function Starts({ workload, before, hits }: { workload: Workload; before: number | null; hits: ForecastHits | null }) {
  const now = useStore(clock);
  const { eta } = workload;
  return (
    <Panel title="When it starts">
      {eta && (
        <p class="big">
          <Eta eta={eta} />
        </p>
      )}
      {eta ? (
        <p>
          {interval(eta, now)}. Forecast made <When at={eta.at} />.
        </p>
      ) : (
        <p>There is no forecast yet: it needs runs of its queue that have ended.</p>
      )}
      {hits && <HitRate hits={hits} />}
      {before !== null && (
        <p>
          Number {count(before + 1)} in <Link to={paths.queue(workload.clusterQueue)}>{workload.clusterQueue}</Link>.
        </p>
      )}
    </Panel>
  );
}

function Facts({ workload }: { workload: Workload }) {
  return (
    <Panel title="What it is">
      <dl>
        <dt>Kind</dt>
        <dd>{workload.kind || "Workload"}</dd>
        <dt>Workload</dt>
        <dd>{workload.id}</dd>
        <dt>LocalQueue</dt>
        <dd>{workload.localQueue}</dd>
        <dt>ClusterQueue</dt>
        <dd>{workload.clusterQueue ? <Link to={paths.queue(workload.clusterQueue)}>{workload.clusterQueue}</Link> : "none"}</dd>
        <dt>Priority</dt>
        <dd>{workload.priority}</dd>
        <dt>Created</dt>
        <dd>
          <When at={workload.createdAt} />
        </dd>
        {workload.waitingSince && (
          <>
            <dt>Waits for</dt>
            <dd>
              <Age since={workload.waitingSince} />
            </dd>
          </>
        )}
        <Cost workload={workload} />
        {workload.requests.map((each) => (
          <>
            <dt>{each.resource}</dt>
            <dd>{amount(each.amount, each.unit)}</dd>
          </>
        ))}
      </dl>
    </Panel>
  );
}

function Cost({ workload }: { workload: Workload }) {
  const { answer } = useAnswer(null, `cost ${workload.id} ${workload.state}`, () => readCost(workload.namespace, workload.workload));
  if (!answer?.cost) return null;
  return (
    <>
      <dt>Cost so far</dt>
      <dd>
        {answer.cost.usd} USD, {answer.cost.usdPerHour} USD an hour{answer.cost.measured ? "" : " (by list prices)"}
      </dd>
    </>
  );
}

function Actions({ workload }: { workload: Workload }) {
  const own = useAct();
  const isOver = workload.state === "succeeded" || workload.state === "failed";
  if (isOver) return null;
  const isOff = workload.state === "deactivated";
  return (
    <div class="actions">
      {isOff ? (
        <ActionButton by={own} action={{ action: "activate", workload: workload.id }}>
          Queue it again
        </ActionButton>
      ) : (
        <ActionButton by={own} action={{ action: "deactivate", workload: workload.id }} ask="Its pods are stopped, and it leaves the queue.">
          Deactivate
        </ActionButton>
      )}
      <Outcome {...own} />
      {workload.waitingSince !== null && <PriorityAction workload={workload.id} now={workload.priority} />}
    </div>
  );
}

function Commands({ workload, pod }: { workload: Workload; pod: string | undefined }) {
  const space = `-n ${shellWord(workload.namespace)}`;
  const name = shellWord(workload.workload);
  return (
    <Panel title="Commands">
      <Command what="Why it waits" text={`berth why workload/${name} ${space}`} />
      {workload.waitingSince && <Command what="When it starts" text={`berth eta workload/${name} ${space}`} />}
      {pod && <Command what="What it writes" text={`kubectl logs ${shellWord(pod)} ${space} --follow`} />}
      <Command what="The object" text={`kubectl get workload ${name} ${space} -o yaml`} />
      <Command what="Its events" text={`kubectl events --for workload/${name} ${space}`} />
      {workload.waitingSince && <Command what="Hold it" text={`kubectl patch workload ${name} ${space} --type merge -p '{"spec":{"active":false}}'`} />}
    </Panel>
  );
}

function Details({ reason, kept }: { reason: Reason; kept: { workload: string; because: string }[] }) {
  const victims = kept;
  return (
    <>
      {reason.tried && reason.tried.length > 0 && (
        <Panel title="Flavors that were tried">
          <div class="scroll" tabIndex={0} role="region" aria-label="Table of flavors">
            <table>
              <thead>
                <tr>
                  {["Flavor", "Resource", "Asked", "Free", "Quota", "Limit"].map((each) => (
                    <th key={each} scope="col">
                      {each}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {reason.tried.map((each, i) => (
                  <tr key={i}>
                    <th scope="row">{each.flavor}</th>
                    <td>{each.resource ?? ""}</td>
                    {[each.asked, each.available, each.nominal].map((value, j) => (
                      <td key={j} class="number">
                        {value === null || value === undefined ? "" : amount(value, each.unit ?? "items")}
                      </td>
                    ))}
                    <td>
                      <Words text={each.message ?? each.limit ?? ""} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
      {(victims.length > 0 || reason.mayPreempt) && (
        <Panel title="Why nothing was preempted for it">
          {reason.mayPreempt && <p>{policyWords(reason.mayPreempt)}</p>}
          <ul class="bullets">
            {sparedGroups(victims).map(({ because, workloads }) => (
              <li key={because}>
                {workloads.join(", ")}: {plain(because)}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {reason.history && reason.history.length > 0 && (
        <Panel title="Earlier reasons">
          <ul class="rows">
            {reason.history.map((each, i) => (
              <li key={i}>
                <b>{reasonWord(each.reason)}</b>
                <span class="figure">
                  {each.count > 1 ? `${each.count} times, last ` : ""}
                  <When at={each.last ?? each.first} />
                </span>
                <p>
                  <Words text={plain(each.message)} />
                </p>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}
