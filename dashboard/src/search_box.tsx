// One search for jobs, queues, nodes and views: "/" leads to it, the arrow keys through what it found.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { list, topology } from "./api";
import { Icon } from "./icons";
import { scope } from "./live";
import { go, paths } from "./router";
import routes from "./routes.json";
import { jobFilter, named, type Hit } from "./search";
import { useStore } from "./store";
import { known } from "./watch";

const TYPED_MS = 120; // after the last key
const MOST_JOBS = 8;
const MOST_ASKED = 40; // those that are over come last
const ORDER = ["running", "reserved", "waiting", "stopping"];
const NODES_KEPT_MS = 60_000;

let nodes: { at: number; scope: string; names: Promise<{ name: string; note: string }[]> } | null = null;

// The nodes that the reader may see; asked for when somebody searches.
function nodeNames(namespace: string): Promise<{ name: string; note: string }[]> {
  if (!nodes || nodes.scope !== namespace || Date.now() - nodes.at > NODES_KEPT_MS) {
    const names = topology(namespace).then(
      (answer) => answer.nodes.map((node) => ({ name: node.name, note: node.pool })),
      () => [],
    );
    nodes = { at: Date.now(), scope: namespace, names };
  }
  return nodes.names;
}

async function jobHits(text: string, namespace: string): Promise<Hit[]> {
  const filter = jobFilter(text);
  const page = await list("workloads", { ...(namespace ? { namespace } : {}), ...filter, fields: "namespace,name,state,clusterQueue", limit: MOST_ASKED }).catch(() => null);
  const rank = (state: string) => (ORDER.includes(state) ? 0 : 1);
  const rows = [...(page?.items ?? [])].sort((a, b) => rank(a.state) - rank(b.state)).slice(0, MOST_JOBS);
  return rows.map((row) => ({ kind: "job", name: `${row.namespace}/${row.name}`, note: [row.state, row.clusterQueue].filter(Boolean).join(" · "), to: paths.workload(row.id) }));
}

const VIEWS = [{ name: "Now", to: "/" }, ...routes.flatMap(({ path, label }) => (label ? [{ name: label, to: path }] : []))];

function localHits(text: string): Hit[] {
  const queues = (known.get()?.queues.rows ?? []).map((row) => ({ name: row.name, note: row.cohort && `cohort ${row.cohort}` }));
  return [
    ...named(VIEWS, text, 3).map((each): Hit => ({ kind: "view", note: "view", ...each })),
    ...named(queues, text).map((each): Hit => ({ kind: "queue", ...each, to: paths.queue(each.name) })),
  ];
}

export function SearchBox() {
  const namespace = useStore(scope);
  const [text, setText] = useState("");
  const [hits, setHits] = useState<Hit[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);

  useEffect(() => {
    const wanted = text.trim();
    setAt(0);
    if (wanted === "") return setHits([]);
    let ended = false;
    setHits(localHits(wanted));
    setBusy(true);
    const timer = setTimeout(() => {
      void Promise.all([jobHits(wanted, namespace), nodeNames(namespace)]).then(([jobs, all]) => {
        if (ended) return;
        const found = named(all, wanted).map((each): Hit => ({ kind: "node", ...each, to: paths.topology({ node: each.name }) }));
        setHits([...localHits(wanted), ...jobs, ...found]);
        setBusy(false);
      });
    }, TYPED_MS);
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [text, namespace]);

  const take = (hit: Hit | undefined) => {
    if (!hit) return;
    setOpen(false);
    setText("");
    input.current?.blur();
    go(hit.to);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      setOpen(false);
      setText("");
      input.current?.blur();
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(hits[at]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setAt(Math.max(0, Math.min(hits.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    }
  };
  const isShown = isOpen && text.trim() !== "";
  return (
    <div class="search" role="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Search for jobs, queues and nodes"
        aria-expanded={isShown}
        aria-controls={`${id}list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits[at] ? `${id}${at}` : undefined}
        placeholder="Search for jobs, queues, nodes"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      {text === "" && <kbd aria-hidden="true">/</kbd>}
      <div class="found" hidden={!isShown}>
        <div role="listbox" id={`${id}list`} aria-label="Found">
          {hits.map((hit, i) => (
            <div
              key={`${hit.kind} ${hit.to}`}
              id={`${id}${i}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(event) => {
                event.preventDefault();
                take(hit);
              }}
              onMouseEnter={() => setAt(i)}
            >
              <Icon name={hit.kind === "view" ? "now" : hit.kind} />
              <b>{hit.name}</b>
              <small>{hit.kind === "view" ? "view" : `${hit.kind}${hit.note ? ` · ${hit.note}` : ""}`}</small>
            </div>
          ))}
        </div>
        {hits.length === 0 && <p class="quiet">{isBusy ? "Searching…" : "Nothing has this name. Jobs are found by the beginning of theirs."}</p>}
      </div>
      <span class="sr-only" role="status">
        {isShown && !isBusy ? `${hits.length} found` : ""}
      </span>
    </div>
  );
}
