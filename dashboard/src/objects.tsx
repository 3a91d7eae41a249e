// What Kubernetes has of one workload: its events, its manifests, and the logs of its pods, with the reader's rights.
import { useState } from "preact/hooks";
import { podLog, workloadObjects, type PodLog, type StoryPod, type ToldEvent, type Workload } from "./api";
import { plural } from "./format";
import { useAnswer } from "./live";
import { Notice, Panel, Skeleton, Table, When } from "./parts";
import { Choice } from "./workloads";

const MOST_EVENTS = 20; // at first; the newest
const MOST_PODS = 50; // in the choice of pods

export function WorkloadObjects({ workload, pods }: { workload: Workload; pods: StoryPod[] }) {
  const { answer, problem } = useAnswer(null, `objects ${workload.id} ${workload.state}`, () => workloadObjects(workload.namespace, workload.workload));
  return (
    <>
      {answer && answer.events.length > 0 && <Events events={answer.events} leftOut={answer.eventsLeftOut} />}
      {pods.length > 0 && <Logs workload={workload} pods={pods} />}
      {answer && answer.objects.length > 0 && (
        <Panel title="Manifests">
          {answer.objects.map((each) => (
            <details key={`${each.kind}/${each.name}`}>
              <summary>
                {each.kind} {each.name}
              </summary>
              <pre class="text" tabIndex={0} aria-label={`${each.kind} ${each.name} as YAML`}>
                {each.yaml}
              </pre>
            </details>
          ))}
        </Panel>
      )}
      {problem && problem.status !== 404 && <p class="quiet">Events and manifests cannot be read: {problem.message}</p>}
      {answer && answer.hidden.length > 0 && <p class="quiet">You have no right to read: {answer.hidden.join(", ")}.</p>}
    </>
  );
}

function Events({ events, leftOut }: { events: ToldEvent[]; leftOut: number }) {
  return (
    <Panel title="Events">
      <Table
        heads={["When", "Object", "Reason", "Message"]}
        most={MOST_EVENTS}
        rows={events.map((each) => [
          each.time ? <When at={each.time} /> : "",
          `${each.kind} ${each.name}`,
          each.count > 1 ? `${each.reason} (${plural(each.count, "time")})` : each.reason,
          each.message,
        ])}
      />
      {leftOut > 0 && <p class="quiet">{plural(leftOut, "older event")} are left out.</p>}
    </Panel>
  );
}

// The log is read when the reader asks for it.
function Logs({ workload, pods }: { workload: Workload; pods: StoryPod[] }) {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState({ pod: "", container: "" });
  // A pod that has been replaced gives way to the first one.
  const isThere = pods.some((each) => each.name === chosen.pod);
  const { pod, container } = isThere ? chosen : { pod: pods[0]?.name ?? "", container: "" };
  return (
    <Panel title="Log">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The last lines of a pod</summary>
        {pods.length > 1 && <Choice label="Pod" value={pod} options={pods.slice(0, MOST_PODS).map((each) => [each.name, each.name])} onChange={(name) => setChosen({ pod: name, container: "" })} />}
        {isOpen && <Log key={`${pod} ${container}`} workload={workload} pod={pod} container={container} onContainer={(name) => setChosen({ pod, container: name })} />}
      </details>
    </Panel>
  );
}

function Log({ workload, pod, container, onContainer }: { workload: Workload; pod: string; container: string; onContainer: (name: string) => void }) {
  const [turn, setTurn] = useState(0);
  const { answer, problem } = useAnswer<PodLog>(null, `log ${pod} ${container} ${turn}`, () => podLog(workload.namespace, workload.workload, pod, container));
  if (problem) {
    return (
      <Notice kind="problem">
        <p>{problem.message}</p>
      </Notice>
    );
  }
  if (!answer) return <Skeleton />;
  return (
    <>
      {answer.containers.length > 1 && <Choice label="Container" value={answer.container} options={answer.containers.map((each) => [each, each])} onChange={onContainer} />}
      {answer.cut && <p class="quiet">Earlier lines are left out.</p>}
      <pre class="text" tabIndex={0} aria-label={`Log of ${answer.pod}`}>
        {answer.text === "" ? "The container has written nothing." : answer.text}
      </pre>
      <button type="button" onClick={() => setTurn(turn + 1)}>
        Read again
      </button>
    </>
  );
}
