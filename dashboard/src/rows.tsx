// A table of any length: only the rows in sight are in the document.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Row } from "./api";
import type { List } from "./live";

export interface Column<T> {
  title: string;
  cell: (row: T, index: number) => ComponentChildren;
  kind?: "number" | "wide" | "main" | "line";
  narrow?: "second"; // in the second line of a narrow row; numbers are else left out there
}

const classOf = ({ kind, narrow }: { kind?: string; narrow?: string }) => `cell cell-${kind ?? "text"}${narrow ? ` cell-${narrow}` : ""}`;

const ROW_PX = 44;
const NARROW_ROW_PX = 96;
const AHEAD = 12; // rows above and below the ones in sight
const NARROW = matchMedia("(max-width: 760px)");

// Whether the page has the width of a telephone.
export function useNarrow(): boolean {
  const [isNarrow, set] = useState(NARROW.matches);
  useEffect(() => {
    const changed = () => set(NARROW.matches);
    NARROW.addEventListener("change", changed);
    return () => NARROW.removeEventListener("change", changed);
  }, []);
  return isNarrow;
}

export function Rows<T extends Row>({ list, columns, label, most }: { list: List<T>; columns: Column<T>[]; label: string; most?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const px = useNarrow() ? NARROW_ROW_PX : ROW_PX;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / px) - AHEAD);
  const last = Math.min(list.rows.length, Math.ceil((top + height) / px) + AHEAD);
  useEffect(() => {
    if (list.hasMore && last >= list.rows.length - AHEAD) list.more();
  }, [last, list.rows.length, list.hasMore]);
  const shown = list.rows.slice(first, last);
  return (
    <div
      ref={box}
      class={`table${most ? " table-short" : ""}${list.isStale ? " stale" : ""}`}
      role="table"
      aria-label={label}
      aria-rowcount={list.hasMore ? -1 : list.rows.length + 1}
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div role="rowgroup" class="table-head">
        <div role="row" class="table-row" aria-rowindex={1}>
          {columns.map((column) => (
            <div role="columnheader" class={classOf(column)} key={column.title}>
              {column.title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="table-body" style={{ height: `${list.rows.length * px}px` }}>
        {shown.map((row, i) => (
          <div role="row" class="table-row" key={row.id} aria-rowindex={first + i + 2} style={{ top: `${(first + i) * px}px`, height: `${px}px` }}>
            {columns.map((column) => (
              <div role="cell" class={classOf(column)} key={column.title} data-title={column.title}>
                {column.cell(row, first + i)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
