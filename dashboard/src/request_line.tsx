// A row's bar on the time line of requests.
import type { CapacityRequest } from "./api";
import { duration } from "./format";
import { Icon } from "./icons";
import { requestLine, type RequestSpan } from "./request_spans";

const PHASES = { waits: "waits for its answer", holds: "has its nodes" };

export function RequestBar({ row, from, now }: { row: CapacityRequest; from: number; now: number }) {
  const { spans, failedAt, beganBefore } = requestLine(row, from, now);
  const word = ({ phase, from: left, to: right, isOpen }: RequestSpan) => {
    const part = ((right - left) / 100) * (now - from);
    return `${PHASES[phase]} ${beganBefore && left === 0 ? "more than " : ""}${duration(part)}${isOpen ? " so far" : ""}`;
  };
  const words = [...spans.map(word), ...(failedAt === null ? [] : [`then ${row.state}`])].join(", ");
  return (
    <span class="timeline-track request-line" role="img" aria-label={words} title={words}>
      {spans.map((span) => (
        <span key={span.phase} class={`span span-${span.phase === "waits" ? "asked" : "running"}${span.isOpen ? " span-open" : ""}`} style={{ left: `${span.from}%`, width: `${span.to - span.from}%` }} />
      ))}
      {failedAt !== null && (
        <span class="span-end warn" style={{ left: `${failedAt}%` }}>
          <Icon name="stopping" size={14} />
        </span>
      )}
    </span>
  );
}
