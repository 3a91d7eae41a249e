// Icons of lucide, drawn as elements: only those named here are in the bundle.
import {
  Activity, Boxes, ChartColumn, Check, CircleCheck, CircleDashed, CircleDot, CirclePause, CirclePlay, CircleStop, CircleX, Clock, Copy, Cpu, Gauge, Hourglass, LayoutList,
  LogOut, Menu, Monitor, Moon, Network, PanelLeft, Search, Server, Settings2, Sun, TriangleAlert, UserRound, Wifi, WifiOff, X, type IconNode,
} from "lucide";
import { h, type ComponentChildren } from "preact";

const ICONS = {
  now: Gauge, workloads: LayoutList, capacity: Server, topology: Network, reports: ChartColumn, queue: Boxes, node: Cpu, job: Activity,
  waiting: Clock, reserved: CircleDot, running: CirclePlay, stopping: CircleStop, succeeded: CircleCheck, failed: CircleX, deactivated: CirclePause,
  ahead: CircleDashed, hourglass: Hourglass, good: CircleCheck, warn: TriangleAlert, bad: CircleX, done: Check,
  search: Search, settings: Settings2, menu: Menu, close: X, fold: PanelLeft, user: UserRound, leave: LogOut, copy: Copy,
  system: Monitor, light: Sun, dark: Moon, live: Wifi, lost: WifiOff,
} satisfies Record<string, IconNode>;
export type IconName = keyof typeof ICONS;

export function isIcon(name: string): name is IconName {
  return name in ICONS;
}

// A picture beside words, which say the same: readers of the screen skip it.
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const parts: ComponentChildren = ICONS[name].map(([tag, attributes], i) => h(tag, { ...attributes, key: i }));
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {parts}
    </svg>
  );
}
