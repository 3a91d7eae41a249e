// The turns of a workload as a picture: a bar a turn, the forecast as a band.
import { workloadHistory, type Forecast } from "./api";
import { duration, exact } from "./format";
import { Icon } from "./icons";
import { useAnswer } from "./live";
import { clock, Panel } from "./parts";
import { Link, paths } from "./router";
import { useStore } from "./store";
import { ticksOf, timelineOf, type Phase, type Span, type TurnSpans } from "./timeline";
import { howWord } from "./words";

const PHASES: Record<Phase, string> = { queued: "waits for quota", reserved: "has quota", asked: "machines are asked for", booting: "machines are granted, and boot", starting: "admitted, its pods start", running: "runs" };
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_MS = 86_400_000;
const LAST_TICK = 93; // percent of the width; a word after it has no room

interface TimelineOf {
  id: string;
  namespace: string;
  name: string;
  state: string;
  eta: Forecast | null;
  waits: boolean;
}

export function TimelinePanel({ id, namespace, name, state, eta, waits }: TimelineOf) {
  const now = useStore(clock);
  const { answer } = useAnswer("workloads", `history ${namespace}/${name} ${state}`, () => workloadHistory(namespace, name), { id });
  const line = answer ? timelineOf(answer, eta, now, waits) : null;
  if (!line) return null;
  const at = (time: number) => Math.max(0, Math.min(100, (100 * (time - line.from)) / (line.to - line.from)));
  const ticks = ticksOf(line.from, line.to, new Date(line.from).getTimezoneOffset());
  const word = (time: number) => (line.to - line.from > 3 * DAY_MS ? DAY : line.to - line.from < 600_000 ? SECONDS : CLOCK).format(time);
  const shown = new Set(line.turns.flatMap((turn) => turn.spans.map((span) => span.phase)));
  return (
    <Panel title="Its time">
      <ul class="chart-legend">
        {(Object.keys(PHASES) as Phase[]).filter((phase) => shown.has(phase)).map((phase) => (
          <li key={phase}>
            <span class={`span-swatch span-${phase}`} /> {PHASES[phase]}
          </li>
        ))}
        {line.forecast && (
          <li>
            <span class="span-swatch span-forecast" /> start by forecast, 8 of 10
          </li>
        )}
      </ul>
      <div class={`timeline${line.turns.length > 1 ? " timeline-many" : ""}`}>
        {line.turns.map((turn, i) => (
          <TurnLine key={turn.number} turn={turn} at={at} isOnly={line.turns.length === 1} forecast={i === line.turns.length - 1 ? line.forecast : null} />
        ))}
        <div class="timeline-row timeline-axis" aria-hidden="true">
          <span />
          <div class="timeline-track">
            {ticks.filter((tick) => at(tick) < LAST_TICK).map((tick) => (
              <span key={tick} style={{ left: `${at(tick)}%` }}>
                {word(tick)}
              </span>
            ))}
            {now > line.from && now < line.to && <span class="timeline-now" style={{ left: `${at(now)}%` }} />}
          </div>
        </div>
      </div>
      <Preemptors turns={line.turns} />
    </Panel>
  );
}

interface TurnLineOf {
  turn: TurnSpans;
  at: (time: number) => number;
  isOnly: boolean;
  forecast: { p10: number; p50: number; p90: number } | null;
}

const MOST_BEFORE_WORD = 55; // percent of the width; a longer bar leaves no room for the words of its end

function endWord({ how, preemptor }: NonNullable<TurnSpans["end"]>): string {
  return `${howWord(how)}${preemptor ? ` (${preemptor})` : ""}`;
}

function TurnLine({ turn, at, isOnly, forecast }: TurnLineOf) {
  const told = (span: Span) => `${PHASES[span.phase]} ${duration(span.to - span.from)}${span.isOpen ? " so far" : ""}`;
  const words = [...turn.spans.map(told), ...(turn.end ? [`then ${endWord(turn.end)}`] : []), ...(forecast ? [`starts by forecast at ${exact(new Date(forecast.p50).toISOString())}`] : [])];
  return (
    <div class="timeline-row">
      <span>{isOnly ? "" : `turn ${turn.number}`}</span>
      <div class="timeline-track" role="img" aria-label={`Turn ${turn.number}: ${words.join(", ")}`}>
        {turn.spans.map((span) => {
          const [left, right] = [at(span.from), at(span.to)];
          return (
            <span key={span.phase} class={`span span-${span.phase}${span.isOpen ? " span-open" : ""}`} style={{ left: `${left}%`, width: `${right - left}%` }} title={told(span)}>
              <b>{duration(span.to - span.from)}</b>
            </span>
          );
        })}
        {forecast && (
          <>
            <span class="span span-forecast" style={{ left: `${at(forecast.p10)}%`, width: `${at(forecast.p90) - at(forecast.p10)}%` }} title="8 of 10 forecasts" />
            <span class="span-median" style={{ left: `${at(forecast.p50)}%` }} title="the median of the forecast" />
          </>
        )}
        {turn.end && (
          <span class={`span-end ${turn.end.isGood ? "good" : "warn"}`} style={{ left: `${at(turn.end.at)}%` }} title={endWord(turn.end)}>
            <Icon name={turn.end.isGood ? "succeeded" : "stopping"} size={14} />
            {at(turn.end.at) < MOST_BEFORE_WORD && !forecast && <small>{howWord(turn.end.how)}</small>}
          </span>
        )}
      </div>
    </div>
  );
}

// The workloads that preempted it, the latest first.
function Preemptors({ turns }: { turns: TurnSpans[] }) {
  const keys = [...new Set(turns.map((turn) => turn.end?.preemptor ?? "").filter((key) => key.includes("/")))].reverse();
  if (keys.length === 0) return null;
  return (
    <p class="quiet">
      Preempted by{" "}
      {keys.map((key, i) => (
        <>
          {i > 0 && ", "}
          <Link to={paths.workload(key)}>{key}</Link>
        </>
      ))}
    </p>
  );
}
