// Writes with the rights of the reader: shown where the server serves them.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { act, type Action, type Problem } from "./api";
import { hasActions, secret } from "./live";
import { useStore } from "./store";

type Outcome = { text: string; isProblem: boolean } | null;

function useAct(): { outcome: Outcome; isBusy: boolean; run: (action: Action) => void } {
  const [outcome, setOutcome] = useState<Outcome>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (action: Action) => {
    setBusy(true);
    act(secret.get(), action)
      .then(
        ({ done }) => setOutcome({ text: done, isProblem: false }),
        (problem: Problem) => setOutcome({ text: problem.message, isProblem: true }),
      )
      .finally(() => setBusy(false));
  };
  return { outcome, isBusy, run };
}

function Told({ outcome }: { outcome: Outcome }) {
  return (
    <span class={outcome?.isProblem ? "problem" : "quiet"} role="status">
      {outcome?.text}
    </span>
  );
}

// `ask`: what is told before the second press; without it one press is enough.
export function ActionButton({ action, ask, children }: { action: Action; ask?: string; children: ComponentChildren }) {
  const isServed = useStore(hasActions);
  const [isAsking, setAsking] = useState(false);
  const { outcome, isBusy, run } = useAct();
  if (!isServed) return null;
  const start = () => {
    setAsking(false);
    run(action);
  };
  return (
    <span class="action">
      {isAsking ? (
        <>
          <span>{ask}</span>
          <button type="button" class="warn" onClick={start}>
            Yes: {children}
          </button>
          <button type="button" onClick={() => setAsking(false)}>
            No
          </button>
        </>
      ) : (
        <button type="button" disabled={isBusy} onClick={() => (ask ? setAsking(true) : start())}>
          {children}
        </button>
      )}
      <Told outcome={outcome} />
    </span>
  );
}

export function PriorityAction({ workload, now }: { workload: string; now: number }) {
  const isServed = useStore(hasActions);
  const [wanted, setWanted] = useState(String(now));
  const { outcome, isBusy, run } = useAct();
  if (!isServed) return null;
  const send = (event: Event) => {
    event.preventDefault();
    run({ action: "priority", workload, priority: Number(wanted) });
  };
  return (
    <form class="action" onSubmit={send}>
      <label>
        Priority <input type="number" step="1" required value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={isBusy || Number(wanted) === now}>
        Set
      </button>
      <Told outcome={outcome} />
    </form>
  );
}

// `now`: the machines of the pool, or of its zone, those in use included; null: unlimited.
export function StockAction({ nodePool, zone, now }: { nodePool: string; zone?: string; now: number | null }) {
  const current = now === null ? "" : String(now);
  const [wanted, setWanted] = useState(current);
  const { outcome, isBusy, run } = useAct();
  useEffect(() => setWanted(current), [current]);
  const send = (event: Event) => {
    event.preventDefault();
    run({ action: "stock", nodePool, ...(zone ? { zone } : {}), stock: wanted === "" ? null : Number(wanted) });
  };
  const of = zone ? `${nodePool} in ${zone}` : nodePool;
  return (
    <form class="action" onSubmit={send}>
      {zone}
      <input
        type="number"
        min="0"
        step="1"
        placeholder="∞"
        aria-label={`Machines of ${of}, those in use included`}
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <button type="submit" disabled={isBusy} aria-label={`Set the stock of ${of}`}>
        Set
      </button>
      <Told outcome={outcome} />
    </form>
  );
}
