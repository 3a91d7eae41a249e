// The address of each view: a path, and filters in the query. readapi/controller/page_files.cc serves
// the document for the same paths.
import type { ComponentChildren } from "preact";
import { Store } from "./store";
import { queryOf, type Parameters } from "./api";

export interface Address {
  path: string;
  parts: string[]; // of the path, without escapes
  query: URLSearchParams;
}

function read(): Address {
  const parts = location.pathname.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { path: location.pathname, parts, query: new URLSearchParams(location.search) };
}

export const address = new Store<Address>(read());
addEventListener("popstate", () => address.set(read()));

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  const before = address.get().path;
  address.set(read());
  if (how === "push" && before !== location.pathname) {
    scrollTo(0, 0);
    // Readers of the screen hear of the new view.
    document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
  }
}

export const paths = {
  now: "/",
  workloads: (query: Parameters = {}) => `/workloads${queryOf(query)}`,
  capacity: (query: Parameters = {}) => `/capacity${queryOf(query)}`,
  topology: (query: Parameters = {}) => `/topology${queryOf(query)}`,
  reports: (query: Parameters = {}) => `/reports${queryOf(query)}`,
  workload: (id: string) => `/workloads/${id.split("/").map(encodeURIComponent).join("/")}`,
  queue: (name: string) => `/queues/${encodeURIComponent(name)}`,
};

interface LinkProps {
  to: string;
  class?: string;
  current?: boolean;
  children: ComponentChildren;
}

export function Link({ to, current, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={follow} aria-current={current ? "page" : undefined} {...rest}>
      {children}
    </a>
  );
}
