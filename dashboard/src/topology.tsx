// Racks and nodes as blocks: who is where, what is free and how it is scattered, and where gangs
// that wait would fit.
import { useMemo, useState } from "preact/hooks";
import { topology as read, type Free, type Gang, type Topology, type TopologyNode } from "./api";
import { blocksOf, keyOf, mainResource, occupantsOf, roomIn, wayOf, type Block } from "./blocks";
import { amount, count, plural } from "./format";
import { scope, useAnswer } from "./live";
import { Notice, Panel, Skeleton, Table, UseBar, Words } from "./parts";
import { Link, paths, useAddressed } from "./router";
import { useStore } from "./store";

const MOST_NODES = 2_000; // in the document
const MOST_OCCUPANTS = 20;

export function TopologyView() {
  const namespace = useStore(scope);
  const { answer, problem } = useAnswer(null, `topology ${namespace}`, () => read(namespace));
  return (
    <>
      <h1>Topology</h1>
      {problem && <Notice kind="problem">{problem.message}</Notice>}
      {!problem && !answer && <Skeleton />}
      {answer && <Floor topology={answer} />}
    </>
  );
}

const MOVES: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

// The arrow keys go from node to node: all of them are one stop of the tabulator.
function moveFocus(event: KeyboardEvent): void {
  const step = MOVES[event.key];
  const at = event.target as HTMLElement;
  if (step === undefined || !at.classList.contains("node")) return;
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>("main .node")];
  const next = Math.max(0, Math.min(all.length - 1, all.indexOf(at) + step));
  all[next]?.focus();
}

function Floor({ topology }: { topology: Topology }) {
  const [chosen, setChosen] = useAddressed("node", "");
  const [gangKey, setGang] = useAddressed("gang", "");
  const [reached, setReached] = useState("");
  const shown = useMemo(
    () =>
      topology.topologies.map((each) => {
        const nodes = topology.nodes.filter((one) => one.topology === each.name);
        return { ...each, count: nodes.length, blocks: blocksOf(nodes.slice(0, MOST_NODES), 0, each.levels.length) };
      }),
    [topology],
  );
  const node = topology.nodes.find((each) => each.name === chosen);
  const gang = topology.gangs.find((each) => keyOf(each) === gangKey);
  if (topology.nodes.length === 0) return <Notice kind="empty">There is no node.</Notice>;
  const names = new Set(topology.nodes.map((each) => each.name));
  const stop = [reached, chosen].find((name) => names.has(name)) ?? firstOf(shown.flatMap((each) => each.blocks));
  const way = { chosen, stop, gang, onChoose: setChosen, onReach: setReached };
  return (
    <>
      {shown.map((each) => (
        <Panel key={each.name ?? ""} title={each.name === null ? "Nodes of no topology, by pool" : `Topology ${each.name}`}>
          {each.levels.length > 0 && <p class="quiet">{each.levels.join(" › ")}</p>}
          {each.free.map((one) => (
            <Fragmentation key={one.resource} free={one} />
          ))}
          <div onKeyDown={moveFocus}>
            <Blocks blocks={each.blocks} topology={each.name} {...way} />
          </div>
          {each.count > MOST_NODES && (
            <p class="quiet">
              The first {count(MOST_NODES)} of {plural(each.count, "node")} are shown.
            </p>
          )}
        </Panel>
      ))}
      {node && <NodeFacts node={node} />}
      {gang && <Best gang={gang} topology={topology} />}
      <Gangs gangs={topology.gangs} chosen={gangKey} onChoose={setGang} leftOut={topology.gangsLeftOut} />
      {topology.nodesLeftOut > 0 && <p class="quiet">{plural(topology.nodesLeftOut, "further node")} are left out.</p>}
      {topology.hidden.length > 0 && (
        <p class="quiet">Not seen: {topology.hidden.join(", ")}. The use of a node is then that of the workloads that a topology has placed there.</p>
      )}
    </>
  );
}

function firstOf(blocks: Block[]): string {
  for (const block of blocks) {
    const name = block.nodes[0]?.name ?? firstOf(block.blocks);
    if (name) return name;
  }
  return "";
}

// The best domain of the chosen gang, with those who are there.
function Best({ gang, topology }: { gang: Gang; topology: Topology }) {
  const best = gang.domains[0];
  const { occupants, others } = occupantsOf(gang, topology.nodes);
  return (
    <Panel title={`Room for ${gang.name}`}>
      <p>
        <Words text={wayOf(gang)} />
      </p>
      {best && best.domain.length > 0 && (
        <>
          <h3>Who is in {best.domain.join(" › ")}</h3>
          <ul class="bullets">
            {occupants.slice(0, MOST_OCCUPANTS).map((each) => (
              <li key={each.name}>
                {each.id === null ? each.name : <Link to={paths.workload(each.id)}>{each.name}</Link>}: {plural(each.pods, "pod")}
              </li>
            ))}
            {occupants.length > MOST_OCCUPANTS && <li>{plural(occupants.length - MOST_OCCUPANTS, "further job")}</li>}
            {others > 0 && <li>jobs of other namespaces</li>}
            {occupants.length === 0 && others === 0 && <li>Nobody is there.</li>}
          </ul>
        </>
      )}
    </Panel>
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

interface Way {
  chosen: string;
  stop: string; // the node that the tabulator reaches
  gang: Gang | undefined; // whose rooms are marked
  onChoose: (name: string) => void;
  onReach: (name: string) => void;
}

function Blocks({ blocks, topology, ...way }: Way & { blocks: Block[]; topology: string | null }) {
  return (
    <ul class="blocks">
      {blocks.map((block) => {
        const room = roomIn(way.gang, topology, block.domain);
        return (
          <li key={block.name} class={room === null ? "block" : room >= (way.gang?.pods ?? 0) ? "block block-fits" : "block block-room"}>
            <span class="block-name">
              {block.name}
              {room !== null && (
                <b>
                  {" "}
                  room for {count(room)} of {count(way.gang?.pods ?? 0)}
                </b>
              )}
            </span>
            {block.blocks.length > 0 && <Blocks blocks={block.blocks} topology={topology} {...way} />}
            {block.nodes.length > 0 && (
              <ul class="nodes">
                {block.nodes.map((node) => (
                  <li key={node.name}>
                    <NodeBlock node={node} isChosen={node.name === way.chosen} isStop={node.name === way.stop} room={roomIn(way.gang, topology, node.domain)} onChoose={way.onChoose} onReach={way.onReach} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function stateOf(node: TopologyNode): string {
  return !node.ready ? "not ready" : !node.schedulable ? "cordoned" : "";
}

interface NodeBlockOf {
  node: TopologyNode;
  isChosen: boolean;
  isStop: boolean;
  room: number | null; // pods of the chosen gang
  onChoose: (name: string) => void;
  onReach: (name: string) => void;
}

function NodeBlock({ node, isChosen, isStop, room, onChoose, onReach }: NodeBlockOf) {
  const main = mainResource(node);
  const share = main ? Math.min(1, main.used / main.allocatable) : 0;
  const words = [
    node.name,
    main ? `${amount(main.used, main.unit)}/${amount(main.allocatable, main.unit)} ${main.resource} used` : "no resources",
    stateOf(node),
    ...node.workloads.map((each) => each.name),
    node.others > 0 ? `${count(node.others)} of others` : "",
    room === null ? "" : `room for ${plural(room, "pod")} of the gang`,
  ].filter(Boolean);
  return (
    <button
      type="button"
      class={`node ${stateOf(node) ? "node-off" : ""} ${room ? "node-room" : ""}`}
      aria-label={words.join(", ")}
      title={words.join("\n")}
      aria-pressed={isChosen}
      tabIndex={isStop ? 0 : -1}
      onFocus={() => onReach(node.name)}
      onClick={() => onChoose(isChosen ? "" : node.name)}
      style={{ "--share": `${100 * share}%` }}
    >
      {stateOf(node) ? "✗" : main ? `${amount(main.used, main.unit)}/${amount(main.allocatable, main.unit)}` : ""}
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

function Gangs({ gangs, chosen, onChoose, leftOut }: { gangs: Gang[]; chosen: string; onChoose: (key: string) => void; leftOut: number }) {
  const choose = (key: string) => {
    onChoose(key);
    if (key) scrollTo(0, 0);
  };
  return (
    <Panel title="Gangs that wait">
      {gangs.length === 0 && <Notice kind="empty">No gang waits.</Notice>}
      {gangs.length > 0 && (
        <Table
          heads={["Gang", "Pods", "In one", "What stands in its way", "Rooms", "On the blocks"]}
          numbers={[1]}
          rows={gangs.map((gang) => [
            <Link to={paths.workload(gang.id)}>{gang.name}</Link>,
            count(gang.pods),
            gang.level ? `${gang.level.split("/").pop()} (${gang.mode})` : "–",
            <Words text={wayOf(gang)} />,
            gang.domains.map((each) => `${each.domain.at(-1) ?? "all"}: ${count(each.pods)}`).join(", "),
            <button type="button" aria-pressed={keyOf(gang) === chosen} aria-label={`${keyOf(gang) === chosen ? "Hide" : "Show"} the rooms for ${gang.name}`} onClick={() => choose(keyOf(gang) === chosen ? "" : keyOf(gang))}>
              {keyOf(gang) === chosen ? "Hide" : "Show"}
            </button>,
          ])}
        />
      )}
      {leftOut > 0 && <p class="quiet">{plural(leftOut, "further gang")} that wait less long are left out.</p>}
      <p class="quiet">Counted from requests and labels: taints, affinities and the flavors of the queue are left out.</p>
    </Panel>
  );
}
