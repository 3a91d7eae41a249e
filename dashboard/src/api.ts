// The read API as functions: lists, one workload, counts, and the session. Every request is for this
// server alone; the session is in a cookie that scripts cannot read.

import type { Action, Capacityrequests, Cohorts, Count, ForecastHits, Queues, Report, ReportHistory, Story, StoryPod, WhatIfChanges, Workloads } from "./berth_read_api";
import { ReadApi } from "./berth_read_api";

export type { Action, Capacity, CapacityCounts, CapacityHistory, CapacityLine, CapacityPool, CohortHistory, Count, Forecast, ForecastHits, Free, Gang, HistoryPart, PodLog, Quota, Reason, Report, ReportHistory, ReportLine, Step, StoryPod, ToldEvent, Topology, TopologyNode, Use, WhatIf, WhatIfJob, WhatIfSide, WorkloadHistory, WorkloadStates } from "./berth_read_api";

export interface Row {
  id: string;
}
// Rows of lists that ask for all fields; what others may not read is absent.
export type Workload = Required<Omit<Workloads, "notPreempted">> & Pick<Workloads, "notPreempted">;
export type Queue = Required<Queues>;
export type CapacityRequest = Required<Capacityrequests>;
export type Cohort = Required<Cohorts>;
export interface WorkloadStory {
  workload: Workload;
  before: number | null; // waiting before it in its ClusterQueue, of all namespaces
  story: Story;
  pods: StoryPod[];
  podsLeftOut: number;
  forecasts: ForecastHits | null; // null: nobody judges forecasts
}

export interface Page<T> {
  items: T[];
  counts?: Count[];
  next?: string;
  revision: string;
}

export interface Resources {
  workloads: Workload;
  queues: Queue;
  capacityrequests: CapacityRequest;
  cohorts: Cohort;
}
export type ResourceName = keyof Resources;

export interface Session {
  signedIn: boolean;
  user?: string;
  csrf?: string;
  actions?: boolean; // whether writes are served
  cluster?: string; // the name of the cluster
  openId?: string; // the host of the OpenID provider at which readers may sign in
}

// An answer other than 2xx, or none: status 0.
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const ROOT = "/api/v1";
const PATIENCE_MS = 20_000;

async function request<T>(path: string, options: RequestInit = {}, patience = PATIENCE_MS): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(ROOT + path, { ...options, signal: AbortSignal.timeout(patience) });
  } catch {
    throw new Problem(0, "The server does not answer.");
  }
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return body as T;
  const message = (body as { message?: unknown } | null)?.message;
  throw new Problem(answer.status, typeof message === "string" ? message : `The server answers ${answer.status}.`);
}

export type Parameters = Record<string, string | number | undefined>;

export function queryOf(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

const FORECAST_PATIENCE_MS = 60_000;
const PREFIX = ROOT.length; // the paths of the client begin with it

// The client of the document. `csrf`: what a request that writes names.
function client(csrf = ""): ReadApi {
  return new ReadApi((method, path, query, body) => {
    const target = path.slice(PREFIX) + queryOf(query as Parameters);
    if (body === undefined) return request(target, { method });
    const headers = { "Content-Type": "application/json", "X-Berth-CSRF": csrf };
    return request(target, { method, headers, body: JSON.stringify(body) }, FORECAST_PATIENCE_MS);
  });
}
const api = client();

export function list<N extends ResourceName>(resource: N, parameters: Parameters): Promise<Page<Resources[N]>> {
  return request(`/${resource}${queryOf(parameters)}`);
}

export async function counts(resource: ResourceName, by: string, parameters: Parameters): Promise<{ values: Count[]; revision: string }> {
  const page = await request<Page<Row>>(`/${resource}${queryOf({ ...parameters, countBy: by })}`);
  return { values: page.counts ?? [], revision: page.revision };
}

const named = (namespace: string) => (namespace ? { namespace: namespace.split(",") } : {});

export const workload = (namespace: string, name: string) => api.readWorkload(namespace, name) as Promise<WorkloadStory>;
export const workloadObjects = (namespace: string, name: string) => api.readWorkloadObjects(namespace, name);
export const podLog = (namespace: string, name: string, pod: string, container: string) => api.readLog(namespace, name, { pod, ...(container ? { container } : {}) });
export const cost = (namespace: string, name: string) => api.readCost(namespace, name);
export const capacity = (namespace: string) => api.readCapacity(named(namespace));
export const topology = (namespace: string) => api.readTopology(named(namespace));
export const locations = (workload: string[], namespace: string) => api.readLocations({ workload, ...named(namespace) });
export const queueHistory = (clusterQueue: string, days: number, namespace: string) =>
  api.readHistory({ clusterQueue, days, ...named(namespace) });
export const cohortHistory = (cohort: string, days: number) => api.readCohortHistory({ cohort, days });
export const workloadStates = (days: number, namespace: string) => api.readWorkloadStates({ days, ...named(namespace) });
export const capacityHistory = (days: number, namespace: string) => api.readCapacityHistory({ days, ...named(namespace) });
export const workloadHistory = (namespace: string, name: string) => api.readWorkloadHistory(namespace, name);
export const report = (parameters: Parameters): Promise<Report> => request(`/reports${queryOf(parameters)}`);
export const reportHistory = (by: string, days: number, namespace: string): Promise<ReportHistory> => request(`/reports/history${queryOf({ by, days, namespace })}`);
export const reportFile = (parameters: Parameters): string => `${ROOT}/reports${queryOf({ ...parameters, format: "csv" })}`;
export const whatIf = (csrf: string, changes: WhatIfChanges) => client(csrf).askWhatIf(changes);
export const act = (csrf: string, action: Action) => client(csrf).act(action);

export const session = (): Promise<Session> => request("/session");

export type Secret = { token: string } | { code: string } | { openId: { code: string; state: string } };

export function signIn(secret: Secret): Promise<Session> {
  return request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(secret),
  });
}

// The address of the OpenID provider, at which the browser signs in.
export function openIdAddress(): Promise<{ address: string }> {
  return request("/session/openid", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
}

export function signOut(csrf: string): Promise<Session> {
  return request("/session", { method: "DELETE", headers: { "X-Berth-CSRF": csrf } });
}
