// Writes with the rights of the reader: shown where the server serves them.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { act, type Action, type Problem } from "./api";
import { useFirstButton, useNextFocus } from "./focus";
import { hasActions, secret } from "./live";
import { useStore } from "./store";

type Told = { text: string; isProblem: boolean } | null;

export interface Act {
  outcome: Told;
  isBusy: boolean;
  told: RefObject<HTMLSpanElement | null>;
  run: (action: Action) => Promise<void>;
}

// One write at a time; `Outcome` shows its outcome and gets the focus of the button.
export function useAct(): Act {
  const [outcome, setOutcome] = useState<Told>(null);
  const [isBusy, setBusy] = useState(false);
  const { next, leave } = useNextFocus<HTMLSpanElement>(outcome);
  const run = async (action: Action) => {
    if (isBusy) return;
    leave();
    setBusy(true);
    setOutcome(null);
    await act(secret.get(), action)
      .then(
        ({ done }) => setOutcome({ text: done, isProblem: false }),
        (problem: Problem) => setOutcome({ text: problem.message, isProblem: true }),
      )
      .finally(() => setBusy(false));
  };
  return { outcome, isBusy, told: next, run };
}

export function Outcome({ outcome, told }: Act) {
  return (
    <span ref={told} class={outcome?.isProblem ? "problem" : "quiet"} role="status" tabIndex={-1}>
      {outcome?.text}
    </span>
  );
}

// A key that is held down asks, and does not answer.
const ignoreHeld = (event: KeyboardEvent) => event.repeat && event.preventDefault();

// `by`: its outcome is told beside the button, which what was done may replace.
// `ask`: what is told before the second press; without it one press is enough.
export function ActionButton({ by, action, ask, children }: { by: Act; action: Action; ask?: string; children: ComponentChildren }) {
  const isServed = useStore(hasActions);
  const [isAsking, setAsking] = useState(false);
  const { first, move } = useFirstButton(isAsking);
  const question = useId();
  if (!isServed) return null;
  const turn = (isOpen: boolean) => {
    if (by.isBusy) return;
    move();
    setAsking(isOpen);
  };
  const start = () => {
    if (!by.isBusy) by.run(action).then(() => setAsking(false));
  };
  return (
    <span class="action">
      {isAsking ? (
        <>
          <span id={question}>{ask}</span>
          <button key="yes" ref={first} type="button" class="warn" aria-describedby={question} aria-disabled={by.isBusy} onKeyDown={ignoreHeld} onClick={start}>
            Yes: {children}
          </button>
          <button key="no" type="button" aria-disabled={by.isBusy} onClick={() => turn(false)}>
            No
          </button>
        </>
      ) : (
        <button key="start" ref={first} type="button" aria-disabled={by.isBusy} onClick={() => (ask ? turn(true) : start())}>
          {children}
        </button>
      )}
    </span>
  );
}

export function PriorityAction({ workload, now }: { workload: string; now: number }) {
  const isServed = useStore(hasActions);
  const [wanted, setWanted] = useState(String(now));
  const own = useAct();
  if (!isServed) return null;
  const send = (event: Event) => {
    event.preventDefault();
    own.run({ action: "priority", workload, priority: Number(wanted) });
  };
  return (
    <form class="action" onSubmit={send}>
      <label>
        Priority <input type="number" step="1" required value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={Number(wanted) === now} aria-disabled={own.isBusy}>
        Set
      </button>
      <Outcome {...own} />
    </form>
  );
}

// `now`: the machines of the pool, or of its zone, those in use included; null: unlimited.
export function StockAction({ nodePool, zone, now }: { nodePool: string; zone?: string; now: number | null }) {
  const current = now === null ? "" : String(now);
  const [wanted, setWanted] = useState(current);
  const own = useAct();
  useEffect(() => setWanted(current), [current]);
  const send = (event: Event) => {
    event.preventDefault();
    own.run({ action: "stock", nodePool, ...(zone ? { zone } : {}), stock: wanted === "" ? null : Number(wanted) });
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
      <button type="submit" aria-disabled={own.isBusy} aria-label={`Set the stock of ${of}`}>
        Set
      </button>
      <Outcome {...own} />
    </form>
  );
}
