// Racks and nodes as blocks: who is where, what is free and how it is scattered, and where gangs
// that wait would fit.
import { useState } from "preact/hooks";
import { topology as read, type Free, type Gang, type Topology, type TopologyNode } from "./api";
import { blocksOf, mainResource, wayOf, type Block } from "./blocks";
import { amount, count, plural } from "./format";
import { scope, useAnswer } from "./live";
import { Notice, Panel, Table, UseBar } from "./parts";
import { Link, paths } from "./router";
import { useStore } from "./store";

const MOST_NODES = 2_000; // in the document

export function TopologyView() {
  const namespace = useStore(scope);
  const { answer, problem } = useAnswer("workloads", `topology ${namespace}`, () => read(namespace));
  return (
    <>
      <h1>Topology</h1>
      {problem && <Notice kind="problem">{problem.message}</Notice>}
      {!problem && !answer && <Notice kind="loading">Loading…</Notice>}
      {answer && <Floor topology={answer} />}
    </>
  );
}

function Floor({ topology }: { topology: Topology }) {
  const [chosen, setChosen] = useState("");
  const node = topology.nodes.find((each) => each.name === chosen);
  if (topology.nodes.length === 0) return <Notice kind="empty">There is no node.</Notice>;
  return (
    <>
      {topology.topologies.map((each) => {
        const nodes = topology.nodes.filter((one) => one.topology === each.name).slice(0, MOST_NODES);
        return (
          <Panel key={each.name ?? ""} title={each.name === null ? "Nodes of no topology, by pool" : `Topology ${each.name}`}>
            {each.levels.length > 0 && <p class="quiet">{each.levels.join(" › ")}</p>}
            {each.free.map((one) => (
              <Fragmentation key={one.resource} free={one} />
            ))}
            <Blocks blocks={blocksOf(nodes, 0, each.levels.length)} chosen={chosen} onChoose={setChosen} />
          </Panel>
        );
      })}
      {node && <NodeFacts node={node} />}
      <Gangs gangs={topology.gangs} />
      {topology.nodesLeftOut > 0 && <p class="quiet">{plural(topology.nodesLeftOut, "further node")} are left out.</p>}
      {topology.hidden.length > 0 && (
        <p class="quiet">Not seen: {topology.hidden.join(", ")}. The use of a node is then that of the workloads that a topology has placed there.</p>
      )}
    </>
  );
}

function Fragmentation({ free }: { free: Free }) {
  if (free.free === 0) return <p>{free.resource}: nothing is free.</p>;
  const scattered = free.free - free.onWholeNodes;
  return (
    <p>
      {free.resource}: {amount(free.free, free.unit)} free, of these {amount(scattered, free.unit)} on nodes in use
      {free.largest.map((each) => ` · most in one ${each.level.split("/").pop()}: ${amount(each.amount, free.unit)}`)}
    </p>
  );
}

function Blocks({ blocks, chosen, onChoose }: { blocks: Block[]; chosen: string; onChoose: (name: string) => void }) {
  return (
    <ul class="blocks">
      {blocks.map((block) => (
        <li key={block.name} class="block">
          <span class="block-name">{block.name}</span>
          {block.blocks.length > 0 && <Blocks blocks={block.blocks} chosen={chosen} onChoose={onChoose} />}
          {block.nodes.length > 0 && (
            <ul class="nodes">
              {block.nodes.map((node) => (
                <li key={node.name}>
                  <NodeBlock node={node} isChosen={node.name === chosen} onChoose={onChoose} />
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
}

function stateOf(node: TopologyNode): string {
  return !node.ready ? "not ready" : !node.schedulable ? "cordoned" : "";
}

function NodeBlock({ node, isChosen, onChoose }: { node: TopologyNode; isChosen: boolean; onChoose: (name: string) => void }) {
  const main = mainResource(node);
  const share = main ? Math.min(1, main.used / main.allocatable) : 0;
  const words = [
    node.name,
    main ? `${amount(main.used, main.unit)}/${amount(main.allocatable, main.unit)} ${main.resource} used` : "no resources",
    stateOf(node),
    ...node.workloads.map((each) => each.name),
    node.others > 0 ? `${count(node.others)} of others` : "",
  ].filter(Boolean);
  return (
    <button type="button" class={`node ${stateOf(node) ? "node-off" : ""}`} aria-label={words.join(", ")} title={words.join("\n")} aria-pressed={isChosen} onClick={() => onChoose(isChosen ? "" : node.name)}>
      <svg viewBox="0 0 10 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-free" width="10" height="10" />
        <rect class="bar-used" y={10 - 10 * share} width="10" height={10 * share} />
      </svg>
      <span aria-hidden="true">{stateOf(node) ? "✗" : main ? `${amount(main.used, main.unit)}/${amount(main.allocatable, main.unit)}` : ""}</span>
    </button>
  );
}

function NodeFacts({ node }: { node: TopologyNode }) {
  return (
    <Panel title={`Node ${node.name}`}>
      <p>{[node.domain.join(" › "), node.pool && `pool ${node.pool}`, stateOf(node)].filter(Boolean).join(" · ")}</p>
      {node.resources.map((each) => (
        <UseBar key={each.resource} use={{ resource: each.resource, unit: each.unit, used: each.used, nominal: each.allocatable, borrowed: 0, lent: 0 }} wide />
      ))}
      <ul class="bullets">
        {node.workloads.map((each) => (
          <li key={each.name}>
            {each.id === null ? each.name : <Link to={paths.workload(each.id)}>{each.name}</Link>}: {plural(each.pods, "pod")}
          </li>
        ))}
        {node.others > 0 && <li>{plural(node.others, "job")} of other namespaces</li>}
        {node.workloads.length === 0 && node.others === 0 && <li>Nobody is here.</li>}
      </ul>
    </Panel>
  );
}

function Gangs({ gangs }: { gangs: Gang[] }) {
  return (
    <Panel title="Gangs that wait">
      {gangs.length === 0 && <Notice kind="empty">No gang waits.</Notice>}
      {gangs.length > 0 && (
        <Table
          heads={["Gang", "Pods", "In one", "What stands in its way", "Rooms"]}
          numbers={[1]}
          rows={gangs.map((gang) => [
            <Link to={paths.workload(gang.id)}>{gang.name}</Link>,
            count(gang.pods),
            gang.level ? `${gang.level.split("/").pop()} (${gang.mode})` : "–",
            wayOf(gang),
            gang.domains.map((each) => `${each.domain.at(-1) ?? "all"}: ${count(each.pods)}`).join(", "),
          ])}
        />
      )}
      <p class="quiet">Counted from requests and labels: taints, affinities and the flavors of the queue are left out.</p>
    </Panel>
  );
}
