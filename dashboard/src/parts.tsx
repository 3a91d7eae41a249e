// Small parts that views share: times, bars, states, notices, commands to copy.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { Forecast, Problem, Use } from "./api";
import { Icon, isIcon, type IconName } from "./icons";
import { amount, distance, duration, exact, instantsOf, isInfinite } from "./format";
import { keptStore, Store, useStore } from "./store";

export const clock = new Store(Date.now());
setInterval(() => {
  if (!document.hidden) clock.set(Date.now());
}, 1_000);
export const exactTimes = keptStore("berth.exactTimes", "");

// An instant: the distance from now, with the instant as a tip; or the reverse.
export function When({ at, none = "–" }: { at: string | null; none?: string }) {
  const now = useStore(clock);
  const isExact = useStore(exactTimes) !== "";
  if (at === null) return <>{none}</>;
  const [shown, tip] = isExact ? [exact(at), distance(at, now)] : [distance(at, now), exact(at)];
  return (
    <time dateTime={at} title={tip}>
      {shown}
    </time>
  );
}

// A text of the server: its instants are in the reader's zone. "asked at INSTANT" becomes "asked 8s ago".
export function Words({ text }: { text: string }) {
  const isExact = useStore(exactTimes) !== "";
  const parts = instantsOf(text);
  const words = (part: string, i: number) => (isExact || i + 1 === parts.length ? part : part.replace(/\bat $/, ""));
  return <>{parts.map((part, i) => (typeof part === "string" ? words(part, i) : <When key={i} at={part.at} />))}</>;
}

// How long ago: "12m".
export function Age({ since, none = "–" }: { since: string | null; none?: string }) {
  const now = useStore(clock);
  const isExact = useStore(exactTimes) !== "";
  if (since === null) return <>{none}</>;
  return (
    <time dateTime={since} title={isExact ? distance(since, now) : exact(since)}>
      {isExact ? exact(since) : duration(now - Date.parse(since))}
    </time>
  );
}

const STALE_FORECAST_MS = 90 * 60_000;

export function Eta({ eta }: { eta: Forecast | null }) {
  const now = useStore(clock);
  const isExact = useStore(exactTimes) !== "";
  if (!eta || now - Date.parse(eta.at) > STALE_FORECAST_MS) return <>–</>;
  if (eta.p50 === null) return <>never</>;
  const away = Date.parse(eta.p50) - now;
  const word = isExact ? exact(eta.p50) : away <= 0 ? "now" : `~${duration(away)}`;
  return (
    <time dateTime={eta.p50} title={interval(eta, now)}>
      {word}
    </time>
  );
}

// The interval of a forecast: "2m – 9m".
export function EtaRange({ eta }: { eta: Forecast | null }) {
  const now = useStore(clock);
  const isExact = useStore(exactTimes) !== "";
  if (!eta || now - Date.parse(eta.at) > STALE_FORECAST_MS || eta.p10 === null) return <>–</>;
  const end = (at: string | null) => (at === null ? "never" : isExact ? exact(at) : Date.parse(at) <= now ? "now" : duration(Date.parse(at) - now));
  return (
    <span title={interval(eta, now)}>
      {end(eta.p10)} – {end(eta.p90)}
    </span>
  );
}

// The interval of a forecast in words.
export function interval(eta: Forecast, now: number): string {
  const end = (at: string | null) => {
    if (at === null) return "never";
    const away = Date.parse(at) - now;
    return away <= 0 ? "now" : duration(away);
  };
  return `8 of 10 forecasts: between ${end(eta.p10)} and ${end(eta.p90)} from now`;
}

const isState = (state: string): state is IconName => isIcon(state);

export function State({ state, size = 14 }: { state: string; size?: number }) {
  return (
    <span class={`state state-${state}`}>
      {isState(state) && <Icon name={state} size={size} />} {state}
    </span>
  );
}

// Quota of one resource: what is used of the own quota, lent, free, and borrowed beyond it.
export function UseBar({ use, wide = false }: { use: Use; wide?: boolean }) {
  const own = Math.min(use.used, use.nominal);
  const whole = isInfinite(use.nominal, use.unit) ? 0 : Math.max(use.nominal, use.used, 1);
  const part = (value: number) => (whole === 0 ? 0 : (100 * Math.max(0, value)) / whole);
  const lent = Math.min(use.lent, use.nominal - own);
  const words = [
    `${amount(use.used, use.unit)} of ${amount(use.nominal, use.unit)} used`,
    use.borrowed > 0 ? `${amount(use.borrowed, use.unit)} borrowed` : "",
    use.lent > 0 ? `${amount(use.lent, use.unit)} lent` : "",
  ].filter(Boolean);
  return (
    <div class={wide ? "use use-wide" : "use"}>
      <span class="use-name">{use.resource}</span>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={`${use.resource}: ${words.join(", ")}`}>
        <rect class="bar-free" width="100" height="10" />
        <rect class="bar-used" width={part(own)} height="10" />
        <rect class="bar-lent" x={part(own)} width={part(lent)} height="10" />
        <rect class="bar-borrowed" x={part(use.nominal)} width={part(use.used - use.nominal)} height="10" />
        {use.used > use.nominal && <rect class="bar-mark" x={part(use.nominal) - 0.5} width="1" height="10" />}
      </svg>
      <span class="use-words" aria-hidden="true">
        {amount(use.used, use.unit)}/{amount(use.nominal, use.unit)}
        {use.borrowed > 0 && <em> borrows {amount(use.borrowed, use.unit)}</em>}
        {use.lent > 0 && <em> lends {amount(use.lent, use.unit)}</em>}
      </span>
    </div>
  );
}

export function Notice({ kind, children }: { kind: "empty" | "problem"; children: ComponentChildren }) {
  return (
    <div class={`notice notice-${kind}`} role={kind === "problem" ? "alert" : undefined}>
      {children}
    </div>
  );
}

// What stands in place of an answer that has not come.
export function Skeleton() {
  return (
    <div class="skeleton" role="status" aria-busy="true" aria-label="The answer is on its way">
      <span />
      <span />
      <span />
    </div>
  );
}

// What stands in place of a list without rows.
export function Empty({ list, children }: { list: { rows: unknown[]; loading: boolean; problem: Problem | null; again: () => void }; children: ComponentChildren }) {
  if (list.problem) {
    return (
      <Notice kind="problem">
        <p>{list.problem.message}</p>
        <button type="button" onClick={list.again}>
          Try again
        </button>
      </Notice>
    );
  }
  if (list.loading) return <Skeleton />;
  return list.rows.length === 0 ? <Notice kind="empty">{children}</Notice> : null;
}

export function Panel({ title, children, aside }: { title: string; children: ComponentChildren; aside?: ComponentChildren }) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface TableOf {
  heads: string[];
  rows: ComponentChildren[][];
  numbers?: number[]; // the columns on the right
  most?: number; // rows that are shown before the reader asks for all
}

// A small table.
export function Table({ heads, rows, numbers = [], most = Infinity }: TableOf) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || rows.length <= most ? rows : rows.slice(0, most);
  const kind = (column: number) => (numbers.includes(column) ? "number" : undefined);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Table: ${heads.join(", ")}`}>
      <table>
        <thead>
          <tr>
            {heads.map((head, column) => (
              <th key={head} scope="col" class={kind(column)}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={kind(column)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {rows.length}
        </button>
      )}
    </div>
  );
}

const COPIED_MS = 2_000;

export function Command({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState("");
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(""), COPIED_MS);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setDone("Copied"),
      () => setDone("Select the text and copy it"),
    );
  };
  return (
    <div class="command">
      <span class="command-what">{what}</span>
      <code tabIndex={0}>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy: ${text}`}>
        <Icon name={done === "Copied" ? "done" : "copy"} size={14} /> Copy
      </button>
      <span class="command-done" role="status">
        {done}
      </span>
    </div>
  );
}
