// What was granted by shape and hour of the day: a row a shape, a cell an hour. The depth of the colour is the part of the
// requests with an answer that was granted; a cross stands where nothing was.
import { useState } from "preact/hooks";
import type { CapacityLine } from "./api";
import { count, plural } from "./format";
import { cellsOf, type HeatCell } from "./heat";
import { Table } from "./parts";

const hourWord = (hour: number) => `${String(hour).padStart(2, "0")}:00`;
const grantedWord = ({ answered, provisioned }: HeatCell) => (answered === 0 ? "–" : `${count(provisioned)} of ${count(answered)}`);

function tip(cell: HeatCell): string {
  if (cell.share === null) return `${hourWord(cell.hour)}: no request has an answer`;
  const failed = cell.stockouts > 0 ? `, ${plural(cell.stockouts, "stock-out")}` : "";
  return `${hourWord(cell.hour)}: ${grantedWord(cell)} granted${failed}`;
}

// The hours that granted most and least, in words.
function summary(cells: HeatCell[]): string {
  const known = cells.filter((cell) => cell.share !== null);
  if (known.length === 0) return "no request has an answer";
  const best = known.reduce((one, other) => ((other.share ?? 0) > (one.share ?? 0) ? other : one));
  const worst = known.reduce((one, other) => ((other.share ?? 0) < (one.share ?? 0) ? other : one));
  return `best ${tip(best)}; worst ${tip(worst)}`;
}

// Nothing where no request has an answer.
export function HeatMap({ title, lines, none }: { title: string; lines: CapacityLine[]; none: string }) {
  const [isOpen, setOpen] = useState(false);
  const offset = new Date().getTimezoneOffset();
  const rows = lines.map((line) => ({ label: line.key || none, cells: cellsOf(line.hours, offset) }));
  const hours = rows[0]?.cells.map((cell) => cell.hour) ?? [];
  if (!rows.some((row) => row.cells.some((cell) => cell.share !== null))) return null;
  return (
    <>
      <h3>{title}</h3>
      <figure class="heat">
        <figcaption>
          <ul class="chart-legend">
            <li>
              <i class="heat-cell heat-none" /> none granted
            </li>
            <li>
              <i class="heat-cell" style={{ "--share": "25%" }} />
              <i class="heat-cell" style={{ "--share": "60%" }} />
              <i class="heat-cell" style={{ "--share": "100%" }} /> some to all granted
            </li>
            <li>
              <i class="heat-cell heat-empty" /> no answer
            </li>
          </ul>
        </figcaption>
        {rows.map(({ label, cells }) => (
          <div key={label} class="heat-row">
            <span>{label}</span>
            <div role="img" aria-label={`${label}: ${summary(cells)}`}>
              {cells.map((cell) => (
                <i
                  key={cell.hour}
                  class={`heat-cell${cell.share === null ? " heat-empty" : cell.share === 0 ? " heat-none" : ""}`}
                  style={{ "--share": `${Math.round(100 * (cell.share ?? 0))}%` }}
                  title={tip(cell)}
                />
              ))}
            </div>
          </div>
        ))}
        <div class="heat-row heat-axis" aria-hidden="true">
          <span />
          <div>
            {hours.map((hour) => (
              <span key={hour}>{hour % 6 === 0 ? hourWord(hour) : ""}</span>
            ))}
          </div>
        </div>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Values</summary>
          {isOpen && (
            <Table
              heads={["Hour", ...rows.map((row) => row.label)]}
              numbers={rows.map((_, i) => i + 1)}
              rows={hours.map((hour) => [hourWord(hour), ...rows.map((row) => grantedWord(row.cells[hour] as HeatCell))])}
            />
          )}
        </details>
      </figure>
    </>
  );
}
