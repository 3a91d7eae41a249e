// A client of the read API of Berth, /api/v1. Made by tools/read-api-clients: do not edit.
//
// `send` makes the requests: it adds the credentials, refuses answers other than 2xx, and gives the body.

export type Values = Record<string, string | number | boolean | readonly (string | number)[] | undefined>;
export type Send = <T>(method: "GET" | "POST", path: string, query: Values, body?: unknown) => Promise<T>;

export interface Action {
  action: "stop" | "resume" | "priority" | "deactivate" | "activate" | "stock";
  clusterQueue?: string;
  drain?: boolean;
  localQueue?: string;
  nodePool?: string;
  priority?: number;
  stock?: number | null;
  workload?: string;
  zone?: string;
}
export interface Advice {
  class: string;
  reason: string;
  remedy: string;
  who: string;
}
export interface Amount {
  amount: number;
  resource: string;
  unit: string;
}
export interface AskedPool {
  maxNodes: number | null;
  name: string;
  nodes: number;
  stock: number | null;
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
  karpenterNodePools?: KarpenterPool[];
  machines?: Machines[];
  narrowed: string[];
  nodePools: CapacityPool[];
  pendingPods?: PendingPods[];
  prices: Price[];
  requests: OpenRequest[];
  stock: Stock[];
  time: string;
}
export interface CapacityAsked {
  advice?: Advice;
  class: string;
  nodePool?: AskedPool;
  policyStep?: string;
  provisioningRequest: string;
}
export interface CapacityCounts {
  asked: number;
  failed: number;
  open: number;
  p50WaitSeconds: number | null;
  p90WaitSeconds: number | null;
  provisioned: number;
  stockouts: number;
}
export interface CapacityHistory {
  classes: CapacityLine[];
  linesLeftOut: number;
  pools: PoolLine[];
  prices: PriceSince[];
  shapes: CapacityLine[];
  times: HistoryTime[];
}
export interface CapacityLine {
  hours: HourCounts[];
  key: string;
  parts: CapacityCounts[];
}
export interface CapacityPool {
  machineType: string;
  maxNodes: number | null;
  name: string;
  nodes: number;
  stock: number | null;
  stockByZone: ZoneStock[];
  totalStock: number | null;
}
export interface CapacityTried {
  advice: Advice;
  at: string;
  step: string;
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
  // since when that condition is true; null: Pending
  stateSince?: string | null;
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
export interface CohortHistory {
  cohort: string;
  queues: CohortQueue[];
  times: HistoryTime[];
}
export interface CohortPart {
  used: Amount[];
}
export interface CohortQueue {
  clusterQueue: string;
  parts: CohortPart[];
}
export interface Cohorts {
  // weight of fair sharing
  fairWeightBillionths?: number | null;
  // list of {flavor, resource, unit, nominal, used, borrowingLimit, lendingLimit}: its own quota; null: no limit;
  // used is that of a ClusterQueue
  flavors?: Quota[];
  // namespace/name, or a name
  id: string;
  // name of the Cohort, which need not exist
  name?: string;
  // the Cohorts above it, nearest first
  parents?: string[];
  // list of {resource, unit, used, nominal, borrowed, lent}: nominal is its own quota and that of all queues and
  // Cohorts below; borrowed is what these use beyond that; lent is 0
  resources?: Use[];
  // its share above the nominal quota; null: without fair sharing
  weightedShare?: number | null;
}
export interface CohortsPage {
  // numbers of rows by the values of `countBy`; absent without it
  counts?: Count[];
  items: Cohorts[];
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
  cause: string;
  domains: Room[];
  fits: boolean;
  id: string;
  level: string;
  mode: "required" | "preferred" | "anywhere";
  name: string;
  podSet: string;
  pods: number;
  remark: string;
}
export interface HeldAmount {
  amount: number;
  flavor: string;
  resource: string;
  unit: string;
}
export interface HistoryPart {
  admitted: number;
  from: string;
  p50WaitSeconds: number | null;
  p90WaitSeconds: number | null;
  preempted: number;
  quota: Amount[];
  to: string;
  used: Amount[];
}
export interface HistoryTime {
  from: string;
  to: string;
}
export interface HourCounts {
  answered: number;
  provisioned: number;
  stockouts: number;
}
export interface KarpenterPool {
  limits: Record<string, string>;
  name: string;
  ready: boolean | null;
  used: Record<string, string>;
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
export interface Location {
  id: string;
  remark: string;
}
export interface Locations {
  failed: string[];
  items: Location[];
  namespacesWithoutPods: string[];
}
export interface Machines {
  all: number;
  ready: number;
  resource: string;
  unit: string;
}
export interface MeasuredStops {
  count: number;
  lostSeconds: number;
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
export interface ObjectText {
  kind: string;
  name: string;
  yaml: string;
}
export interface Occupant {
  id: string | null;
  name: string;
  pods: number;
}
export interface OpenIdAddress {
  address: string;
}
export interface OpenIdReturn {
  code: string;
  state: string;
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
export interface PastNode {
  class: string;
  from: string;
  gpus: number;
  namespace: string;
  node: string;
  pool: string;
  seconds: number;
  stands: boolean;
  until: string;
  usdPerHour: number | null;
  workload: string;
}
export interface PastReason {
  count: number;
  first: string | null;
  last: string | null;
  message: string;
  reason: string;
}
export interface PastRequest {
  class: string;
  created: string;
  ended: string | null;
  message: string;
  name: string;
  namespace: string;
  outcome: string;
  provisioned: string | null;
  reason: string;
  uid: string;
  workload: string;
}
export interface PendingPods {
  ageSeconds: number;
  check: string;
  flavors: string[];
  message: string;
  namespace: string;
  state: "Pending" | "PodsWait";
  workload: string;
}
export interface PodLog {
  container: string;
  containers: string[];
  cut: boolean;
  pod: string;
  text: string;
}
export interface PoolLine {
  parts: PoolPart[];
  pool: string;
}
export interface PoolPart {
  booting: number | null;
  costUsd: number;
  idle: number | null;
  ready: number | null;
  standing: number;
}
export interface Price {
  class?: string;
  flavor: string;
  policy?: string;
  step?: string;
  usdPerHour: string;
}
export interface PriceSince {
  flavor: string;
  since: string;
  usdPerHour: number | null;
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
  // list of {flavor, resource, unit, nominal, used, borrowingLimit, lendingLimit}: its own quota; null: no limit;
  // used is that of a ClusterQueue
  flavors?: Quota[];
  // namespace/name, or a name
  id: string;
  // why it admits nothing, by its condition Active; empty: it is active
  inactive?: string;
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
  borrowingLimit: number | null;
  flavor: string;
  lendingLimit: number | null;
  nominal: number;
  resource: string;
  unit: string;
  used?: number;
}
export interface Reason {
  history?: PastReason[];
  kind: string;
  mayPreempt?: string;
  message: string;
  stops?: MeasuredStops;
  tried?: Tried[];
}
export interface Report {
  by: string;
  from: string;
  lines: ReportLine[];
  to: string;
}
export interface ReportHistory {
  by: string;
  lines: ReportHistoryLine[];
  otherLines: number;
  others: ReportPart[];
  times: HistoryTime[];
}
export interface ReportHistoryLine {
  key: string;
  parts: ReportPart[];
}
export interface ReportLine {
  attempts: number;
  chargedHours: Record<string, number>;
  costUsd: number;
  destroyedHours: Record<string, number>;
  key: string;
  measuredUsd: number;
  outcomes: Record<string, number>;
  stops: StopCosts;
  unpriced: number;
  usedHours: Record<string, number>;
  waitedHours: number;
  waitedHoursByResource: Record<string, number>;
  waits: number;
  workloads: number;
}
export interface ReportPart {
  chargedHours: Record<string, number>;
  costUsd: number;
  destroyedHours: Record<string, number>;
  usedHours: Record<string, number>;
  waitedHours: number;
}
export interface Room {
  domain: string[];
  pods: number;
  topology: string | null;
}
export interface Session {
  actions?: boolean;
  cluster?: string;
  csrf?: string;
  openId?: string;
  signedIn: boolean;
  user?: string;
}
export interface SignIn {
  code?: string;
  openId?: OpenIdReturn;
  token?: string;
}
export interface Spared {
  because: string;
  workload: string;
}
export interface StatePart {
  quota: Amount[];
  reserved: number;
  running: number;
  used: Amount[];
  waiting: Record<string, number>;
}
export interface Step {
  assigned?: Assigned[];
  capacity?: CapacityAsked;
  lines: string[];
  name: string;
  reason?: Reason;
  since: string | null;
  state: "done" | "now" | "ahead" | "failed";
  tried?: CapacityTried[];
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
export interface StopCosts {
  claimedHours: number;
  lostHours: number;
  measured: number;
  unmeasured: number;
}
export interface Story {
  givesUp: string;
  headline: string;
  notSeen: string[];
  steps: Step[];
  subject: string;
  wouldStartIf: string[];
}
export interface StoryPod {
  name: string;
  node: string | null;
  phase: string;
}
export interface ToldEvent {
  count: number;
  kind: string;
  message: string;
  name: string;
  reason: string;
  time: string | null;
  type: string;
}
export interface Topology {
  gangs: Gang[];
  gangsLeftOut: number;
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
  created: string;
  destroyedHours: Record<string, number>;
  ended: string | null;
  job: string;
  labels: string;
  localQueue: string;
  message: string;
  namespace: string;
  outcome: string;
  podsReady: string | null;
  preemptor: string;
  priority: number;
  queued: string;
  quotaReserved: string | null;
  reason: string;
  resources: HeldAmount[];
  uid: string;
  usdPerHour: number | null;
  user: string;
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
  workload: string;
  worseOff: boolean;
}
export interface WhatIfSide {
  chance: number;
  placeSeconds: number | null;
  preemptions: number;
  reason: string | null;
  startSeconds: number | null;
}
export interface WorkloadHistory {
  attempts: Turn[];
  capacityRequests: PastRequest[];
  nodes: PastNode[];
}
export interface WorkloadObjects {
  events: ToldEvent[];
  eventsLeftOut: number;
  hidden: string[];
  objects: ObjectText[];
}
export interface WorkloadStates {
  parts: StatePart[];
  times: HistoryTime[];
}
export interface WorkloadStory {
  before: number | null;
  forecasts: ForecastHits | null;
  pods: StoryPod[];
  podsLeftOut: number;
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
  // reason for the wait: {kind, message, tried, mayPreempt, history, stops}; null: it does not wait
  reason?: Reason | null;
  // place, result, or reason, in words
  remark?: string;
  // list of {resource, unit, amount} of all pods: as admitted, else as asked
  requests?: Amount[];
  // waiting, reserved, running, stopping, deactivated, succeeded, failed
  state?: string;
  // place of a waiting Workload among those of its ClusterQueue: smaller goes first (priority, then creation, or the
  // eviction that moved it behind others); null: it does not wait, or has its quota
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
export interface ZoneStock {
  totalStock: number;
  zone: string;
}
export class ReadApi {
  constructor(private readonly send: Send) {}

  // a write with the rights of the token, off by default. stop (drain), resume: of clusterQueue or localQueue
  // (NAMESPACE/NAME); priority, deactivate, activate: of workload (NAMESPACE/NAME); stock: the machines of a
  // nodePool of the emulated cloud, or of its zone
  act(body: Action): Promise<Done> {
    return this.send("POST", `/api/v1/actions`, {}, body);
  }

  // pools, prices, stock, measured cost, as `berth capacity`; `hidden`: the kinds that the token may not list
  readCapacity(query: { namespace?: string[] | undefined } = {}): Promise<Capacity> {
    return this.send("GET", `/api/v1/capacity`, query);
  }

  // what was asked of clouds over time, by class and by shape, the nodes of pools, and prices, from the ledger;
  // prices are for readers of all namespaces
  readCapacityHistory(query: { days?: number | undefined; namespace?: string[] | undefined } = {}): Promise<CapacityHistory> {
    return this.send("GET", `/api/v1/capacity/history`, query);
  }

  // the ProvisioningRequests: what was asked of the cloud
  listCapacityrequests(query: { namespace?: string[] | undefined; class?: string[] | undefined; state?: string[] | undefined; sort?: "createdAt" | "-createdAt" | undefined; limit?: number | undefined; countBy?: "namespace" | "class" | "state" | undefined; fields?: ("namespace" | "name" | "class" | "state" | "stateSince" | "createdAt" | "workload" | "message")[] | undefined; cursor?: string | undefined } = {}): Promise<CapacityrequestsPage> {
    return this.send("GET", `/api/v1/capacityrequests`, query);
  }

  // the Cohorts: own quota, and the quota and use of all queues below; who sees a queue sees the Cohorts above it
  listCohorts(query: { namespace?: string[] | undefined; sort?: "weightedShare" | "-weightedShare" | undefined; limit?: number | undefined; fields?: ("name" | "parents" | "fairWeightBillionths" | "weightedShare" | "resources" | "flavors")[] | undefined; cursor?: string | undefined } = {}): Promise<CohortsPage> {
    return this.send("GET", `/api/v1/cohorts`, query);
  }

  // usage and waits of a ClusterQueue over time, from the ledger
  readHistory(query: { clusterQueue?: string | undefined; days?: number | undefined; namespace?: string[] | undefined } = {}): Promise<QueueHistory> {
    return this.send("GET", `/api/v1/history`, query);
  }

  // what each ClusterQueue below a Cohort used over time, from the ledger; of 256 ClusterQueues at most
  readCohortHistory(query: { cohort?: string | undefined; days?: number | undefined; namespace?: string[] | undefined } = {}): Promise<CohortHistory> {
    return this.send("GET", `/api/v1/history/cohort`, query);
  }

  // how many workloads waited, by cause, had quota, and ran over time, from the ledger: mean numbers of each part of
  // the period
  readWorkloadStates(query: { days?: number | undefined; namespace?: string[] | undefined } = {}): Promise<WorkloadStates> {
    return this.send("GET", `/api/v1/history/workloads`, query);
  }

  // the LocalQueues
  listLocalqueues(query: { namespace?: string[] | undefined; clusterQueue?: string[] | undefined; stopPolicy?: string[] | undefined; sort?: "waiting" | "-waiting" | "running" | "-running" | undefined; limit?: number | undefined; countBy?: "namespace" | "clusterQueue" | "stopPolicy" | undefined; fields?: ("namespace" | "name" | "clusterQueue" | "waiting" | "running" | "stopPolicy")[] | undefined; cursor?: string | undefined } = {}): Promise<LocalqueuesPage> {
    return this.send("GET", `/api/v1/localqueues`, query);
  }

  // where Workloads run: the remark of each running one that is named, with the nodes of its pods; `failed`: those
  // whose pods the API server has not given; `namespacesWithoutPods`: those whose pods the token may not list
  readLocations(query: { namespace?: string[] | undefined; workload?: string[] | undefined } = {}): Promise<Locations> {
    return this.send("GET", `/api/v1/locations`, query);
  }

  // the ClusterQueues: quota, usage, counts; a caller with rights in namespaces sees those that the LocalQueues
  // there feed
  listQueues(query: { namespace?: string[] | undefined; cohort?: string[] | undefined; stopPolicy?: string[] | undefined; sort?: "waiting" | "-waiting" | "running" | "-running" | "weightedShare" | "-weightedShare" | undefined; limit?: number | undefined; countBy?: "cohort" | "stopPolicy" | undefined; fields?: ("name" | "cohort" | "parents" | "waiting" | "running" | "strategy" | "stopPolicy" | "inactive" | "fairWeightBillionths" | "weightedShare" | "resources" | "flavors")[] | undefined; cursor?: string | undefined } = {}): Promise<QueuesPage> {
    return this.send("GET", `/api/v1/queues`, query);
  }

  // the accounts of a period, from the ledger, as `berth report`
  readReport(query: { by?: "queue" | "clusterqueue" | "namespace" | "priority" | "cause" | "user" | "pool" | "team" | undefined; days?: number | undefined; namespace?: string[] | undefined; format?: "json" | "csv" | undefined } = {}): Promise<Report> {
    return this.send("GET", `/api/v1/reports`, query);
  }

  // the accounts of a period over time, from the ledger: hours used and destroyed, waits and costs of each part of
  // the period. Further lines are summed
  readReportHistory(query: { by?: "queue" | "clusterqueue" | "namespace" | "priority" | "user" | "pool" | "team" | undefined; days?: number | undefined; namespace?: string[] | undefined } = {}): Promise<ReportHistory> {
    return this.send("GET", `/api/v1/reports/history`, query);
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
  listWorkloads(query: { namespace?: string[] | undefined; name?: string[] | undefined; kind?: string[] | undefined; localQueue?: string[] | undefined; clusterQueue?: string[] | undefined; priority?: number[] | undefined; state?: string[] | undefined; cause?: string[] | undefined; sort?: "priority" | "-priority" | "createdAt" | "-createdAt" | "waitingSince" | "-waitingSince" | "turn" | "-turn" | undefined; limit?: number | undefined; countBy?: "namespace" | "kind" | "localQueue" | "clusterQueue" | "priority" | "state" | "cause" | undefined; fields?: ("namespace" | "workload" | "name" | "kind" | "localQueue" | "clusterQueue" | "priority" | "state" | "cause" | "createdAt" | "waitingSince" | "turn" | "eta" | "requests" | "remark" | "reason" | "notPreempted")[] | undefined; cursor?: string | undefined } = {}): Promise<WorkloadsPage> {
    return this.send("GET", `/api/v1/workloads`, query);
  }

  // one Workload with the causal chain of its state, as `berth why`, and its pods; before: waiting Workloads of all
  // namespaces before it in its ClusterQueue
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

  // the last lines of the log of a container, with the token's rights
  readLog(namespace: string, name: string, query: { pod?: string | undefined; container?: string | undefined } = {}): Promise<PodLog> {
    return this.send("GET", `/api/v1/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/log`, query);
  }

  // a Workload and its job as YAML, and their events and those of the first pods; `hidden`: what the token may not
  // read
  readWorkloadObjects(namespace: string, name: string): Promise<WorkloadObjects> {
    return this.send("GET", `/api/v1/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/objects`, {});
  }
}
