// A client of the read API of Berth, /api/v1. Made by tools/read-api-clients: do not edit.
//
// `send` makes the requests: it adds the credentials, refuses answers other than 2xx, and gives the body.

export type Values = Record<string, string | number | boolean | readonly (string | number)[] | undefined>;
export type Send = <T>(method: "GET" | "POST", path: string, query: Values, body?: unknown) => Promise<T>;

export interface Action {
  action: "stop" | "resume" | "priority" | "deactivate" | "activate";
  clusterQueue?: string;
  drain?: boolean;
  localQueue?: string;
  priority?: number;
  workload?: string;
}
export interface Amount {
  amount: number;
  resource: string;
  unit: string;
}
export interface Assigned {
  amount: number;
  flavor: string;
  podSet: string;
  resource: string;
  unit: string;
}
export interface Capacity {
  cost: QueueCost[];
  hidden: string[];
  narrowed: string[];
  nodePools: CapacityPool[];
  prices: Price[];
  requests: OpenRequest[];
  stock: Stock[];
  time: string;
}
export interface CapacityPool {
  machineType: string;
  maxNodes: number | null;
  name: string;
  nodes: number;
  stock: number | null;
}
export interface Capacityrequests {
  // provisioning class
  class?: string;
  // when it was asked
  createdAt?: string;
  // namespace/name, or a name
  id: string;
  // message of that condition
  message?: string;
  // name of the ProvisioningRequest
  name?: string;
  // namespace of the ProvisioningRequest
  namespace?: string;
  // Pending, or the latest condition that is true
  state?: string;
  // name of the Workload; empty: none
  workload?: string;
}
export interface CapacityrequestsPage {
  // numbers of rows by the values of `countBy`; absent without it
  counts?: Count[];
  items: Capacityrequests[];
  // `cursor` of the next page; absent: the last
  next?: string;
  // `cursor` of the events that follow this page
  revision: string;
}
export interface CostAnswer {
  cost: Money | null;
  hidden: string[];
}
export interface Count {
  count: number;
  value: string;
}
export interface Done {
  done: string;
}
export interface Forecast {
  at: string;
  p10: string | null;
  p50: string | null;
  p90: string | null;
}
export interface ForecastHits {
  byP10: number;
  byP50: number;
  byP90: number;
  later: number;
  since: string;
}
export interface Free {
  free: number;
  largest: LevelRoom[];
  onWholeNodes: number;
  resource: string;
  unit: string;
}
export interface Gang {
  domains: Room[];
  fits: boolean;
  id: string;
  level: string;
  mode: "required" | "preferred" | "anywhere";
  name: string;
  podSet: string;
  pods: number;
}
export interface HistoryPart {
  admitted: number;
  from: string;
  p50WaitSeconds: number | null;
  p90WaitSeconds: number | null;
  preempted: number;
  to: string;
  used: Amount[];
}
export interface LevelRoom {
  amount: number;
  level: string;
}
export interface Levels {
  free: Free[];
  levels: string[];
  name: string | null;
}
export interface Localqueues {
  // the ClusterQueue that it feeds
  clusterQueue?: string;
  // namespace/name, or a name
  id: string;
  // name of the LocalQueue
  name?: string;
  // namespace of the LocalQueue
  namespace?: string;
  // admitted Workloads
  running?: number;
  // None, Hold or HoldAndDrain
  stopPolicy?: string;
  // waiting Workloads
  waiting?: number;
}
export interface LocalqueuesPage {
  // numbers of rows by the values of `countBy`; absent without it
  counts?: Count[];
  items: Localqueues[];
  // `cursor` of the next page; absent: the last
  next?: string;
  // `cursor` of the events that follow this page
  revision: string;
}
export interface Money {
  measured?: boolean;
  usd: string;
  usdPerHour: string;
}
export interface NodeResource {
  allocatable: number;
  resource: string;
  unit: string;
  used: number;
}
export interface Occupant {
  id: string | null;
  name: string;
  pods: number;
}
export interface OpenRequest {
  ageSeconds: number;
  class: string;
  cost: Money | null;
  name: string;
  namespace: string;
  policyStep: string | null;
  state: string;
  workload: string | null;
}
export interface PastReason {
  count: number;
  first: string | null;
  last: string | null;
  message: string;
  reason: string;
}
export interface Price {
  class?: string;
  flavor: string;
  policy?: string;
  step?: string;
  usdPerHour: string;
}
export interface Problem {
  message: string;
  status: number;
}
export interface QueueCost {
  localQueue: string;
  nodeSeconds: number;
  nodes: number;
  nodesWithoutPrice: number;
  usd: string;
  usdPerHour: string;
}
export interface QueueHistory {
  clusterQueue: string;
  parts: HistoryPart[];
}
export interface Queues {
  // its Cohort; empty: none
  cohort?: string;
  // weight of fair sharing
  fairWeightBillionths?: number | null;
  // list of {flavor, resource, unit, nominal}: its own quota
  flavors?: Quota[];
  // namespace/name, or a name
  id: string;
  // name of the ClusterQueue
  name?: string;
  // the Cohorts above its Cohort, nearest first
  parents?: string[];
  // list of {resource, unit, used, nominal, borrowed, lent}, summed over flavors
  resources?: Use[];
  // admitted Workloads
  running?: number;
  // None, Hold or HoldAndDrain
  stopPolicy?: string;
  // StrictFIFO or BestEffortFIFO
  strategy?: string;
  // waiting Workloads
  waiting?: number;
  // its share above the nominal quota; null: without fair sharing
  weightedShare?: number | null;
}
export interface QueuesPage {
  // numbers of rows by the values of `countBy`; absent without it
  counts?: Count[];
  items: Queues[];
  // `cursor` of the next page; absent: the last
  next?: string;
  // `cursor` of the events that follow this page
  revision: string;
}
export interface Quota {
  flavor: string;
  nominal: number;
  resource: string;
  unit: string;
}
export interface Reason {
  history?: PastReason[];
  kind: string;
  mayPreempt?: string;
  message: string;
  tried?: Tried[];
}
export interface Report {
  by: string;
  from: string;
  lines: ReportLine[];
  to: string;
}
export interface ReportLine {
  attempts: number;
  chargedHours: Record<string, number>;
  costUsd: number;
  destroyedHours: Record<string, number>;
  key: string;
  measuredUsd: number;
  unpriced: number;
  usedHours: Record<string, number>;
  waitedHours: number;
  waits: number;
  workloads: number;
}
export interface Room {
  domain: string[];
  pods: number;
  topology: string | null;
}
export interface Spared {
  because: string;
  workload: string;
}
export interface Step {
  assigned?: Assigned[];
  lines: string[];
  name: string;
  reason?: Reason;
  since: string | null;
  state: "done" | "now" | "ahead" | "failed";
}
export interface Stock {
  askedInADay: number;
  class: string;
  failuresInARow: number;
  flavor: string;
  grantedInADay: number;
  leastPods: number;
  medianWaitSeconds: number | null;
  reason: string | null;
  restsUntil: string | null;
  shape: string;
  zone: string;
}
export interface Story {
  givesUp: string;
  headline: string;
  notSeen: string[];
  steps: Step[];
  subject: string;
  wouldStartIf: string[];
}
export interface Topology {
  gangs: Gang[];
  hidden: string[];
  nodes: TopologyNode[];
  nodesLeftOut: number;
  time: string;
  topologies: Levels[];
}
export interface TopologyNode {
  domain: string[];
  name: string;
  others: number;
  pool: string;
  ready: boolean;
  resources: NodeResource[];
  schedulable: boolean;
  topology: string | null;
  workloads: Occupant[];
}
export interface Tried {
  asked?: number | null;
  available?: number | null;
  flavor?: string;
  limit?: string;
  message?: string;
  nominal?: number | null;
  podSet?: string;
  resource?: string;
  unit?: string;
}
export interface Turn {
  admitted: string | null;
  attempt: number;
  clusterQueue: string;
  ended: string | null;
  localQueue: string;
  namespace: string;
  outcome: string;
  podsReady: string | null;
  preemptor: string;
  priority: number;
  queued: string;
  quotaReserved: string | null;
  reason: string;
  waits: WaitPart[];
  workload: string;
}
export interface Use {
  borrowed: number;
  lent: number;
  nominal: number;
  resource: string;
  unit: string;
  used: number;
}
export interface WaitPart {
  cause: string;
  from: string;
  seconds: number;
}
export interface WhatIf {
  apply: string;
  at: string;
  changes: string[];
  draws: number;
  jobs: WhatIfJob[];
  leftOut: string[];
  seed: number;
  worseOff: number;
}
export interface WhatIfChanges {
  priority?: string[];
  quota?: string[];
  stop?: string[];
}
export interface WhatIfJob {
  after: WhatIfSide;
  before: WhatIfSide | null;
  effect: string;
  kind: string;
  localQueue: string;
  name: string;
  namespace: string;
  runs: boolean;
  shiftSeconds: number;
  worseOff: boolean;
}
export interface WhatIfSide {
  chance: number;
  preemptions: number;
  reason: string | null;
  startSeconds: number | null;
}
export interface WorkloadHistory {
  attempts: Turn[];
}
export interface WorkloadStory {
  forecasts: ForecastHits | null;
  story: Story;
  workload: Workloads;
}
export interface Workloads {
  // kind of the reason for the wait; empty: it does not wait
  cause?: string;
  // ClusterQueue; empty: the LocalQueue is missing
  clusterQueue?: string;
  // creation of the Workload
  createdAt?: string;
  // forecast of the start: {at, p10, p50, p90}, instants, null: never; null: no forecast
  eta?: Forecast | null;
  // namespace/name, or a name
  id: string;
  // kind of the job
  kind?: string;
  // LocalQueue in the namespace
  localQueue?: string;
  // name of the job; of the Workload if it has no owner
  name?: string;
  // namespace of the Workload
  namespace?: string;
  // list of {workload, because}: candidates that preemption left, of any namespace
  notPreempted?: Spared[] | null;
  // priority; greater goes first
  priority?: number;
  // reason for the wait: {kind, message, tried, mayPreempt, history}; null: it does not wait
  reason?: Reason | null;
  // place, result, or reason, in words
  remark?: string;
  // list of {resource, unit, amount} of all pods: as admitted, else as asked
  requests?: Amount[];
  // waiting, reserved, running, stopping, deactivated, succeeded, failed
  state?: string;
  // place of a waiting Workload among those of its ClusterQueue: smaller goes first (priority, then the start of the
  // wait); null: it does not wait, or has its quota
  turn?: number | null;
  // start of the present wait; null: it does not wait
  waitingSince?: string | null;
  // name of the Workload
  workload?: string;
}
export interface WorkloadsPage {
  // numbers of rows by the values of `countBy`; absent without it
  counts?: Count[];
  items: Workloads[];
  // `cursor` of the next page; absent: the last
  next?: string;
  // `cursor` of the events that follow this page
  revision: string;
}
export class ReadApi {
  constructor(private readonly send: Send) {}

  // a write with the rights of the token, off by default. stop (drain), resume: of clusterQueue or localQueue
  // (NAMESPACE/NAME); priority, deactivate, activate: of workload (NAMESPACE/NAME)
  act(body: Action): Promise<Done> {
    return this.send("POST", `/api/v1/actions`, {}, body);
  }

  // pools, prices, stock, measured cost, as `berth capacity`; `hidden`: the kinds that the token may not list
  readCapacity(query: { namespace?: string[] | undefined } = {}): Promise<Capacity> {
    return this.send("GET", `/api/v1/capacity`, query);
  }

  // the ProvisioningRequests: what was asked of the cloud
  listCapacityrequests(query: { namespace?: string[] | undefined; class?: string[] | undefined; state?: string[] | undefined; sort?: "createdAt" | "-createdAt" | undefined; limit?: number | undefined; countBy?: "namespace" | "class" | "state" | undefined; fields?: ("namespace" | "name" | "class" | "state" | "createdAt" | "workload" | "message")[] | undefined; cursor?: string | undefined } = {}): Promise<CapacityrequestsPage> {
    return this.send("GET", `/api/v1/capacityrequests`, query);
  }

  // usage and waits of a ClusterQueue over time, from the ledger
  readHistory(query: { clusterQueue?: string | undefined; days?: number | undefined; namespace?: string | undefined } = {}): Promise<QueueHistory> {
    return this.send("GET", `/api/v1/history`, query);
  }

  // the LocalQueues
  listLocalqueues(query: { namespace?: string[] | undefined; clusterQueue?: string[] | undefined; stopPolicy?: string[] | undefined; sort?: "waiting" | "-waiting" | "running" | "-running" | undefined; limit?: number | undefined; countBy?: "namespace" | "clusterQueue" | "stopPolicy" | undefined; fields?: ("namespace" | "name" | "clusterQueue" | "waiting" | "running" | "stopPolicy")[] | undefined; cursor?: string | undefined } = {}): Promise<LocalqueuesPage> {
    return this.send("GET", `/api/v1/localqueues`, query);
  }

  // the ClusterQueues: quota, usage, counts; a caller with rights in namespaces sees those that the LocalQueues
  // there feed
  listQueues(query: { namespace?: string[] | undefined; cohort?: string[] | undefined; stopPolicy?: string[] | undefined; sort?: "waiting" | "-waiting" | "running" | "-running" | "weightedShare" | "-weightedShare" | undefined; limit?: number | undefined; countBy?: "cohort" | "stopPolicy" | undefined; fields?: ("name" | "cohort" | "parents" | "waiting" | "running" | "strategy" | "stopPolicy" | "fairWeightBillionths" | "weightedShare" | "resources" | "flavors")[] | undefined; cursor?: string | undefined } = {}): Promise<QueuesPage> {
    return this.send("GET", `/api/v1/queues`, query);
  }

  // the accounts of a period, from the ledger, as `berth report`
  readReport(query: { by?: "queue" | "clusterqueue" | "namespace" | "priority" | "cause" | undefined; days?: number | undefined; namespace?: string | undefined; format?: "json" | "csv" | undefined } = {}): Promise<Report> {
    return this.send("GET", `/api/v1/reports`, query);
  }

  // nodes by their levels, who is on them, what is free, where gangs would fit
  readTopology(query: { namespace?: string[] | undefined } = {}): Promise<Topology> {
    return this.send("GET", `/api/v1/topology`, query);
  }

  // what a change would do to the jobs, as `berth what-if`; nothing is written. quota: QUEUE/FLAVOR/RESOURCE=AMOUNT;
  // priority: job/NAME=NUMBER; stop: QUEUE
  askWhatIf(body: WhatIfChanges): Promise<WhatIf> {
    return this.send("POST", `/api/v1/whatif`, {}, body);
  }

  // the Workloads: state, place, reasons; `berth list -o json` has the same form
  listWorkloads(query: { namespace?: string[] | undefined; kind?: string[] | undefined; localQueue?: string[] | undefined; clusterQueue?: string[] | undefined; priority?: number[] | undefined; state?: string[] | undefined; cause?: string[] | undefined; sort?: "priority" | "-priority" | "createdAt" | "-createdAt" | "waitingSince" | "-waitingSince" | "turn" | "-turn" | undefined; limit?: number | undefined; countBy?: "namespace" | "kind" | "localQueue" | "clusterQueue" | "priority" | "state" | "cause" | undefined; fields?: ("namespace" | "workload" | "name" | "kind" | "localQueue" | "clusterQueue" | "priority" | "state" | "cause" | "createdAt" | "waitingSince" | "turn" | "eta" | "requests" | "remark" | "reason" | "notPreempted")[] | undefined; cursor?: string | undefined } = {}): Promise<WorkloadsPage> {
    return this.send("GET", `/api/v1/workloads`, query);
  }

  // one Workload with the causal chain of its state
  readWorkload(namespace: string, name: string): Promise<WorkloadStory> {
    return this.send("GET", `/api/v1/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`, {});
  }

  // what the nodes of a Workload cost; null: no price is known
  readCost(namespace: string, name: string): Promise<CostAnswer> {
    return this.send("GET", `/api/v1/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/cost`, {});
  }

  // the turns of a Workload, from the ledger, as `berth history`: times, causes of waits, and the Workload for which
  // it was preempted
  readWorkloadHistory(namespace: string, name: string): Promise<WorkloadHistory> {
    return this.send("GET", `/api/v1/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/history`, {});
  }
}
