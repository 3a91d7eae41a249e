// The read API as functions: lists, one workload, counts, and the session. Every request is for this
// server alone; the session is in a cookie that scripts cannot read.

export interface Amount {
  resource: string;
  unit: string;
  amount: number;
}

export interface Use {
  resource: string;
  unit: string;
  used: number;
  nominal: number;
  borrowed: number;
  lent: number;
}

export interface Tried {
  podSet?: string;
  flavor?: string;
  resource?: string;
  unit?: string;
  asked?: number | null;
  available?: number | null;
  nominal?: number | null;
  limit?: string;
  message?: string;
}

export interface PastReason {
  reason: string;
  message: string;
  first: string | null;
  last: string | null;
  count: number;
}

export interface Reason {
  kind: string;
  message: string;
  tried?: Tried[];
  mayPreempt?: string;
  notPreempted?: { workload: string; because: string }[];
  history?: PastReason[];
}

export interface Forecast {
  at: string;
  p10: string | null;
  p50: string | null;
  p90: string | null;
}

export interface Row {
  id: string;
}

export interface Workload extends Row {
  namespace: string;
  workload: string;
  name: string;
  kind: string;
  localQueue: string;
  clusterQueue: string;
  priority: number;
  state: string;
  cause: string;
  createdAt: string;
  waitingSince: string | null;
  turn: number | null;
  eta: Forecast | null;
  requests: Amount[];
  remark: string;
  reason: Reason | null;
  notPreempted?: { workload: string; because: string }[];
}

export interface Queue extends Row {
  name: string;
  cohort: string;
  parents: string[];
  waiting: number;
  running: number;
  strategy: string;
  stopPolicy: string;
  weightedShare: number | null;
  resources: Use[];
}

export interface CapacityRequest extends Row {
  namespace: string;
  name: string;
  class: string;
  state: string;
  createdAt: string;
  workload: string;
  message: string;
}

export interface Step {
  name: string;
  state: "done" | "now" | "ahead" | "failed";
  since: string | null;
  lines: string[];
  reason?: Reason;
  assigned?: { podSet: string; flavor: string; resource: string; unit: string; amount: number }[];
}

export interface Story {
  subject: string;
  headline: string;
  steps: Step[];
  wouldStartIf: string[];
  notSeen: string[];
  givesUp: string;
}

export interface WorkloadStory {
  workload: Workload;
  story: Story;
}

export interface Count {
  value: string;
  count: number;
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
}
export type ResourceName = keyof Resources;

export interface ReportLine {
  key: string;
  workloads: number;
  attempts: number;
  waits: number;
  waitedHours: number;
  usedHours: Record<string, number>;
  destroyedHours: Record<string, number>;
}

export interface Report {
  by: string;
  from: string;
  to: string;
  lines: ReportLine[];
}

export interface Session {
  signedIn: boolean;
  user?: string;
  csrf?: string;
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

async function request<T>(path: string, options: RequestInit = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(ROOT + path, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
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

export function list<N extends ResourceName>(resource: N, parameters: Parameters): Promise<Page<Resources[N]>> {
  return request(`/${resource}${queryOf(parameters)}`);
}

export async function counts(resource: ResourceName, by: string, parameters: Parameters): Promise<Count[]> {
  const page = await request<Page<Row>>(`/${resource}${queryOf({ ...parameters, countBy: by })}`);
  return page.counts ?? [];
}

export function workload(namespace: string, name: string): Promise<WorkloadStory> {
  return request(`/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
}

export const report = (parameters: Parameters): Promise<Report> => request(`/reports${queryOf(parameters)}`);
export const reportFile = (parameters: Parameters): string => `${ROOT}/reports${queryOf({ ...parameters, format: "csv" })}`;

export const session = (): Promise<Session> => request("/session");

export function signIn(secret: { token: string } | { code: string }): Promise<Session> {
  return request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(secret),
  });
}

export function signOut(csrf: string): Promise<Session> {
  return request("/session", { method: "DELETE", headers: { "X-Berth-CSRF": csrf } });
}
