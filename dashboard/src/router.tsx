// The address of each view: a path, and filters in the query. The server answers the paths of
// routes.json with the document.
//
// The namespaces of the page (live.ts) are in the query of each address, so that a shared address shows the same.
import type { ComponentChildren } from "preact";
import { queryOf, type Parameters } from "./api";
import { scope } from "./live";
import { Store, useStore } from "./store";

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

const SCOPE = "namespace";

// The address with the namespaces of the page.
function scoped(to: string): string {
  const url = new URL(to, location.origin);
  if (scope.get()) url.searchParams.set(SCOPE, scope.get());
  else url.searchParams.delete(SCOPE);
  // Commas stay readable.
  return url.pathname + url.search.replaceAll("%2C", ",") + url.hash;
}

// Takes the namespaces of an address that has some; puts those of the page into one that has none.
function takeScope(): void {
  const given = new URLSearchParams(location.search).get(SCOPE);
  if (given !== null) scope.set(given.replaceAll(/\s+/g, ""));
  history.replaceState(null, "", scoped(location.pathname + location.search + location.hash));
}

takeScope();
export const address = new Store<Address>(read());
addEventListener("popstate", () => {
  takeScope();
  address.set(read());
});
scope.listen(() => {
  history.replaceState(null, "", scoped(location.pathname + location.search + location.hash));
  address.set(read());
});

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") history.pushState(null, "", scoped(to));
  else history.replaceState(null, "", scoped(to));
  const before = address.get().path;
  address.set(read());
  if (how === "push" && before !== location.pathname) {
    scrollTo(0, 0);
    // Readers of the screen hear of the new view.
    document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
  }
}

// Changes values of the query; an empty one is left out.
export function change(values: Record<string, string>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), "replace");
}

// A choice of a view that its address has.
export function useAddressed(name: string, usual: string): [string, (value: string) => void] {
  const { query } = useStore(address);
  return [query.get(name) ?? usual, (value) => change({ [name]: value === usual ? "" : value })];
}

export const paths = {
  now: "/",
  workloads: (query: Parameters = {}) => `/workloads${queryOf(query)}`,
  capacity: (query: Parameters = {}) => `/capacity${queryOf(query)}`,
  topology: (query: Parameters = {}) => `/topology${queryOf(query)}`, // node, gang
  reports: (query: Parameters = {}) => `/reports${queryOf(query)}`,
  workload: (id: string) => `/workloads/${id.split("/").map(encodeURIComponent).join("/")}`,
  queue: (name: string) => `/queues/${encodeURIComponent(name)}`,
};

interface LinkProps {
  to: string;
  class?: string;
  current?: boolean;
  title?: string | undefined;
  children: ComponentChildren;
}

export function Link({ to, current, children, ...rest }: LinkProps) {
  useStore(scope);
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={scoped(to)} onClick={follow} aria-current={current ? "page" : undefined} {...rest}>
      {children}
    </a>
  );
}
