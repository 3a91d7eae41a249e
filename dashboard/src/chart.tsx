// One style of chart, drawn by uPlot: lines, steps, bars and stacked areas over time. Charts that share a `Window`
// show the same time, which the reader chooses by dragging over one of them.
//
// Each line has a colour and a pattern of its own (dashes, hatches), and its value stands beside its name. The canvas
// is for the eye: the same values are in a table below.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { colors } from "./appearance";
import { lastIn, stacked, thinned, type Line } from "./chart_data";
import { Table } from "./parts";
import { Store, useStore } from "./store";

export type Look = "line" | "step" | "dashes" | "area" | "bars";
export interface ChartLine extends Line {
  color?: string; // a custom property: "--c1"
  look?: Look;
  hatch?: number; // of a stacked area: 0 is plain, 1 to 3 are stripes; absent: by its place among the lines
}
// Seconds; null: the usual time of each chart.
export type Window = Store<{ from: number; to: number } | null>;

const COLORS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const WHOLE = [1, 2, 5].flatMap((each) => Array.from({ length: 16 }, (_, power) => each * 10 ** power)).sort((a, b) => a - b);
// Steps of a scale of seconds, and of a share.
export const TIMES = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 86_400, 2 * 86_400, 7 * 86_400, 30 * 86_400];
export const SHARES = [0.05, 0.1, 0.25, 0.5];
const MOST_IN_TABLE = 60;
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

// A limit is no part of a stack.
const isPart = (line: ChartLine) => line.look !== "dashes";
const hatchOf = (line: ChartLine, index: number) => (line.hatch ?? index) % 4;
export const colorOf = (line: ChartLine, index: number) => line.color ?? COLORS[index % COLORS.length] ?? "--c1";

// The colour on the screen of a custom property.
function painted(property: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// A fill of the colour that a pattern tells apart: plain, or stripes of one of three directions.
function hatched(color: string, hatch: number): CanvasPattern | string {
  if (hatch === 0) return color;
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [8, 8];
  const context = tile.getContext("2d");
  if (!context) return color;
  context.fillStyle = color;
  context.fillRect(0, 0, 8, 8);
  context.strokeStyle = painted("--raised");
  context.lineWidth = 1.2;
  context.globalAlpha = 0.55;
  context.beginPath();
  const stripes = [[], [[-2, 10, 10, -2], [-2, 2, 2, -2], [6, 10, 10, 6]], [[4, 0, 4, 8]], [[-2, -2, 10, 10], [-2, 6, 2, 10], [6, -2, 10, 2]]][hatch] ?? [];
  for (const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] of stripes) {
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
  }
  context.stroke();
  return context.createPattern(tile, "repeat") ?? color;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

function timeWord(at: number, step: number): string {
  const time = at * 1000;
  if (step >= DAY_S) return DAY.format(time);
  const word = (step < 60 ? SECONDS : CLOCK).format(time);
  return word === "00:00" ? DAY.format(time) : word;
}

interface ChartOf {
  label: string; // what the chart shows
  times: number[]; // seconds, in order
  lines: ChartLine[];
  end?: number | undefined; // of the last part: its value holds until then
  from?: number; // the usual time; absent: that of the data
  to?: number;
  isStacked?: boolean;
  height?: number;
  window?: Window;
  full?: number; // the least top of the scale
  steps?: number[]; // of the scale; absent: whole numbers
  none?: string; // what stands in place of lines without a value
  hasTable?: boolean;
}

export function TimeChart({ label, times, lines, end, from, to, isStacked = false, height = 150, window: shared, full = 1, steps = WHOLE, none = "Nothing yet.", hasTable = true }: ChartOf) {
  const [own] = useState<Window>(() => new Store<{ from: number; to: number } | null>(null));
  const store = shared ?? own;
  const chosen = useStore(store);
  const [at, setAt] = useState<number | null>(null);
  const whole = { from: from ?? times[0] ?? 0, to: to ?? times.at(-1) ?? 1 };
  const shown = chosen ?? whole;
  const shownAt = at !== null && at < times.length ? at : null;
  const isEmpty = !lines.some((line) => line.values.some((value) => value !== null));
  const valueOf = (line: ChartLine) => (shownAt === null ? lastIn(times, line.values, shown.to) : (line.values[shownAt] ?? null));
  const words = lines.map((line) => `${line.label} ${((value) => (value === null ? "–" : line.text(value)))(lastIn(times, line.values, shown.to))}`);
  return (
    <figure class="chart">
      <figcaption>
        <ul class="chart-legend">
          {lines.map((line, i) => {
            const value = valueOf(line);
            return (
              <li key={line.label}>
                <Swatch line={line} index={i} isStacked={isStacked} />
                {line.label} <b>{value === null ? "–" : line.text(value)}</b>
              </li>
            );
          })}
        </ul>
        <span class="chart-at">{shownAt !== null && timeWord(times[shownAt] ?? 0, shown.to - shown.from < 2 * DAY_S ? 1 : HOUR_S)}</span>
        {chosen && (
          <button type="button" class="plain" onClick={() => store.set(null)}>
            Whole time
          </button>
        )}
      </figcaption>
      <div class="chart-plot" role="img" aria-label={`${label}: ${words.join(", ")}`}>
        <Plot {...{ times, lines, end, isStacked, height, full, steps, store }} from={shown.from} to={shown.to} onAt={setAt} />
        {isEmpty && <span class="chart-none">{none}</span>}
      </div>
      {hasTable && !isEmpty && <Values times={times} lines={lines} />}
    </figure>
  );
}

// The sign of a line beside its name: a dash pattern, or a hatched area.
export function Swatch({ line, index, isStacked }: { line: ChartLine; index: number; isStacked: boolean }) {
  const color = `var(${colorOf(line, index)})`;
  const dash = dashOf(line, index).join(" ");
  const hatch = isStacked ? hatchOf(line, index) : 0;
  return (
    <svg class="swatch" viewBox="0 0 16 10" aria-hidden="true">
      {(isStacked && isPart(line)) || line.look === "bars" ? (
        <>
          <rect width="16" height="10" rx="2" fill={color} />
          {hatch === 1 && <path d="M2 10 10 0M8 10 16 0" stroke="var(--raised)" stroke-width="1.5" />}
          {hatch === 2 && <path d="M5 0V10M11 0V10" stroke="var(--raised)" stroke-width="1.5" />}
          {hatch === 3 && <path d="M0 0 8 10M6 0 14 10" stroke="var(--raised)" stroke-width="1.5" />}
        </>
      ) : (
        <path d="M0 5H16" stroke={color} stroke-width="3" stroke-dasharray={dash} />
      )}
    </svg>
  );
}

function dashOf(line: ChartLine, index: number): number[] {
  return line.look === "dashes" ? [4, 3] : line.look === "bars" || line.look === "area" ? [] : (DASHES[index % DASHES.length] ?? []);
}

function Values({ times, lines }: { times: number[]; lines: ChartLine[] }) {
  const [isOpen, setOpen] = useState(false);
  const word = (line: ChartLine, i: number) => ((value) => (value === null ? "–" : line.text(value)))(line.values[i] ?? null);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values</summary>
      {isOpen && (
        <Table
          heads={["From", ...lines.map((line) => line.label)]}
          numbers={lines.map((_, i) => i + 1)}
          rows={thinned(times.length, MOST_IN_TABLE).map((i) => [SECONDS.format((times[i] ?? 0) * 1000) + ", " + DAY.format((times[i] ?? 0) * 1000), ...lines.map((line) => word(line, i))])}
        />
      )}
    </details>
  );
}

interface PlotOf {
  times: number[];
  lines: ChartLine[];
  end?: number | undefined;
  isStacked: boolean;
  height: number;
  from: number;
  to: number;
  full: number;
  steps?: number[];
  store: Window;
  isSmall?: boolean;
  onAt: (index: number | null) => void;
}

function pathsOf(look: Look): uPlot.Series.PathBuilder | undefined {
  const { stepped, bars } = uPlot.paths;
  if (look === "step" || look === "dashes" || look === "area") return stepped?.({ align: 1 });
  return look === "bars" ? bars?.({ size: [0.9, 60], align: 1 }) : undefined;
}

function seriesOf(line: ChartLine, index: number, isStack: boolean): uPlot.Series {
  const isStacked = isStack && isPart(line);
  const color = painted(colorOf(line, index));
  const look = isStacked ? "step" : (line.look ?? "line");
  const paths = pathsOf(look);
  const fill = isStacked ? hatched(color, hatchOf(line, index)) : look === "bars" ? color : look === "area" ? color.replace(/^rgb\((.*)\)$/, "rgba($1, .22)") : undefined;
  return {
    label: line.label,
    stroke: color,
    width: look === "bars" ? 0 : isStacked ? 1 : 2,
    dash: isStacked ? [] : dashOf(line, index),
    points: { show: false },
    ...(paths ? { paths } : {}),
    ...(fill === undefined ? {} : { fill: () => fill }),
  };
}

function axesOf(isSmall: boolean, steps: number[], text: (value: number) => string): uPlot.Axis[] {
  if (isSmall) return [{ show: false }, { show: false }];
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const common = { stroke: painted("--quiet"), font, grid: { stroke: painted("--line"), width: 1 }, ticks: { show: false } };
  return [
    { ...common, size: 24, space: 70, values: (_, splits) => splits.map((at, i) => timeWord(at, (splits[i + 1] ?? at) - (splits[i] ?? at) || (splits[1] ?? 0) - (splits[0] ?? 0))) },
    { ...common, size: 52, gap: 4, space: 34, incrs: steps, values: (_, splits) => splits.map((each) => (each === null ? "" : text(each))) },
  ];
}

// The canvas; a change of its structure or of colours makes a new one, new values do not.
export function Plot({ times, lines, end, isStacked, height, from, to, full, steps = WHOLE, store, isSmall = false, onAt }: PlotOf) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const painting = useStore(colors);
  const shape = JSON.stringify([painting, isStacked, height, isSmall, ...lines.map((line) => [line.label, line.color, line.look, line.hatch])]);
  const data = useMemo<uPlot.AlignedData>(() => {
    const isHeld = end !== undefined && end > (times.at(-1) ?? Infinity);
    const values = lines.map((line) => (isHeld ? [...line.values, line.look === "bars" ? null : (line.values.at(-1) ?? null)] : line.values));
    return [isHeld ? [...times, end] : times, ...(isStacked ? stacked(values, lines.map(isPart)) : values)];
  }, [times, lines, end, isStacked]);
  const latest = useRef({ from, to, full, store, onAt, lines });
  latest.current = { from, to, full, store, onAt, lines };

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(
      {
        width: Math.max(40, element.clientWidth),
        height,
        ...(isSmall ? { padding: [2, 0, 0, 0] as [number, number, number, number] } : { padding: [8, 26, 0, 0] as [number, number, number, number] }),
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
        scales: {
          x: { range: () => [latest.current.from, latest.current.to] },
          y: { range: (_, __, top) => [0, Math.max(latest.current.full, top ?? 0) * (isSmall ? 1 : 1.08)] },
        },
        axes: axesOf(isSmall, steps, (value) => latest.current.lines[0]?.text(value) ?? String(value)),
        series: [{}, ...lines.map((line, i) => seriesOf(line, i, isStacked))],
        hooks: {
          setCursor: [(u) => latest.current.onAt(u.cursor.left !== undefined && u.cursor.left >= 0 ? (u.cursor.idx ?? null) : null)],
          setSelect: [
            (u) => {
              if (u.select.width < 6) return;
              latest.current.store.set({ from: u.posToVal(u.select.left, "x"), to: u.posToVal(u.select.left + u.select.width, "x") });
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: Math.max(40, element.clientWidth), height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data, from, to, full]);
  return <div ref={box} class="plot" aria-hidden="true" />;
}
