#include "tests/market/market_play.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/assert.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr char kCheck[] = "capacity";
constexpr char kGpu[] = "nvidia.com/gpu";
constexpr std::int64_t kIdleSeconds = 600;  // a node without pods, before it is returned
constexpr double kSecondsPerHour = 3600;
constexpr int kMostRounds = 40;

std::int64_t SecondsIn(Duration span) { return std::chrono::duration_cast<seconds>(span).count(); }

}  // namespace

MarketPlay::MarketPlay(const MarketOptions& options)
    : options_(options),
      end_(begin_ + std::chrono::hours(24) * options.days),
      arrivals_(options.seed * 0x9E3779B97F4A7C15U + 1) {
  config_.meta.name = "config";
  config_.managed_resources = {kGpu};
  config_.provisioning_class_name = options_.pools.front().provisioning_class;
  for (const MarketPool& market : options_.pools) {
    Pool& pool = pools_.emplace_back(options.seed * 0xD1B54A32D192ED03U + pools_.size() + 1);
    pool.market = market;
    flavors_[market.flavor].meta.name = market.flavor;
  }
}

MarketResult MarketPlay::Run() {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    pools_[i].in_stock = pools_[i].random.Below(2) == 0;
    Toggle(i);
  }
  const double between = kSecondsPerHour / options_.jobs_per_hour;
  for (double at = Exponential(arrivals_, between); at < kSecondsPerHour * 24 * options_.days;
       at += Exponential(arrivals_, between)) {
    const std::size_t index = jobs_.size();
    Job& job = jobs_.emplace_back(options_.seed * 0xA24BAED4963EE407U + index);
    constexpr std::array<std::int64_t, 10> kSizes{1, 1, 1, 1, 1, 1, 1, 2, 2, 4};
    job.nodes = kSizes.at(job.random.Below(kSizes.size()));
    job.run_seconds = 600 + static_cast<std::int64_t>(Exponential(job.random, 5400));
    job.arrived = begin_ + std::chrono::milliseconds(std::llround(at * 1000));
    if (!options_.policies.empty()) {
      job.policy = &options_.policies[index % options_.policies.size()];
    }
    At(job.arrived, [this, index] { Arrive(index); });
  }
  result_.jobs = static_cast<int>(jobs_.size());
  while (!events_.empty() && events_.begin()->first.first < end_) {
    const auto next = events_.extract(events_.begin());
    now_ = next.key().first;
    next.mapped()();
  }
  now_ = end_;
  for (Job& job : jobs_) {
    if (job.grant != 0) PayAndReturn(job, /*idles=*/false);
  }
  result_.unresolved = static_cast<int>(open_.size());
  std::sort(result_.waits_seconds.begin(), result_.waits_seconds.end());
  return std::move(result_);
}

double MarketPlay::Exponential(Random& random, double mean) {
  return -mean * std::log(1 - random.Unit());
}

void MarketPlay::At(WallTime at, std::function<void()> run) {
  events_.emplace(std::pair(at, ++last_event_), std::move(run));
}

void MarketPlay::In(double seconds, std::function<void()> run) {
  At(now_ + std::chrono::milliseconds(std::llround(seconds * 1000)), std::move(run));
}

void MarketPlay::Toggle(std::size_t index) {
  Pool& pool = pools_[index];
  pool.in_stock = !pool.in_stock;
  const Duration mean = pool.in_stock ? pool.market.in_stock : pool.market.out_of_stock;
  In(Exponential(pool.random, static_cast<double>(SecondsIn(mean))),
     [this, index] { Toggle(index); });
  if (pool.in_stock) Serve(index);
}

void MarketPlay::Arrive(std::size_t index) {
  Job& job = jobs_[index];
  const std::string name = "job-" + std::to_string(index);
  job.workload.meta = {.namespace_name = "default", .name = name, .uid = "uid-of-" + name};
  job.workload.spec.maximum_execution_time_seconds = static_cast<std::int32_t>(job.run_seconds);
  api::PodSet pods;
  pods.count = static_cast<std::int32_t>(job.nodes);
  api::Container container;
  container.name = "c";
  container.requests = {{kGpu, 1}};
  pods.pod_template.spec.containers = {container};
  job.workload.spec.pod_sets = {pods};
  job.not_before = now_;
  Settle(index);
}

// ---- Deciding.

provisioning::Situation MarketPlay::Observe(const Job& job) const {
  provisioning::Situation situation;
  situation.workload = &job.workload;
  if (!job.workload.status.admission_checks.empty()) {
    situation.checks = {{kCheck, &config_, job.made, job.policy}};
  }
  situation.memory = job.memory;
  situation.stock = job.policy == nullptr ? nullptr : &stock_;
  situation.requests = job.requests;
  situation.templates = job.templates;
  situation.flavors = &flavors_;
  return situation;
}

void MarketPlay::Settle(std::size_t index) {
  int rounds = 0;
  while (Step(index)) BERTH_ASSERT(++rounds < kMostRounds);
}

// Decides and performs once. False: there is nothing to do.
bool MarketPlay::Step(std::size_t index) {
  Job& job = jobs_[index];
  const provisioning::Decision decision = provisioning::Decide(Observe(job), {}, now_);
  for (const provisioning::StockLesson& lesson : decision.lessons) stock_.Record(lesson);
  if (!decision.lessons.empty()) return true;
  if (decision.memory) {
    Remember(job, *decision.memory);
    return true;
  }
  for (const provisioning::Action& action : decision.actions) Perform(index, action);
  for (const api::AdmissionCheckState& state : decision.checks) Follow(index, state);
  if (!decision.actions.empty() || !decision.checks.empty()) return true;
  if (Reserve(job)) return true;
  if (decision.next_wake) {
    At(now_ + std::max<Duration>(*decision.next_wake, std::chrono::milliseconds(1)),
       [this, index] { Settle(index); });
  }
  return false;
}

// Gives the first flavor that the job does not avoid.
bool MarketPlay::Reserve(Job& job) {
  api::Workload& workload = job.workload;
  if (workload.status.admission || !workload.spec.active || now_ < job.not_before ||
      api::IsTrue(workload.status.conditions, api::kFinished)) {
    return false;
  }
  const std::string* avoided =
      api::FindValue(workload.meta.annotations, api::kAvoidedFlavorsAnnotation);
  const std::string list = "," + (avoided == nullptr ? "" : *avoided) + ",";
  for (const Pool& pool : pools_) {
    if (list.find("," + pool.market.flavor + ",") != std::string::npos) continue;
    api::Admission admission{.cluster_queue = "queue"};
    admission.pod_set_assignments = {{.name = "main",
                                      .flavors = {{kGpu, pool.market.flavor}},
                                      .count = static_cast<std::int32_t>(job.nodes)}};
    workload.status.admission = admission;
    SetCondition(job, api::kQuotaReserved, true);
    SetCondition(job, api::kEvicted, false);
    if (workload.status.admission_checks.empty()) {
      workload.status.admission_checks = {{.name = kCheck, .last_transition_time = now_}};
    }
    return true;
  }
  return false;
}

void MarketPlay::Remember(Job& job, const provisioning::MemoryWrite& write) {
  job.memory = write.memory;
  api::StringMap& annotations = job.workload.meta.annotations;
  annotations.erase(api::kAvoidedFlavorsAnnotation);
  if (!write.avoided_flavors.empty()) {
    annotations[api::kAvoidedFlavorsAnnotation] = write.avoided_flavors;
  }
  annotations.erase(api::kExpiresAtAnnotation);
  if (!write.expires_at.empty()) annotations[api::kExpiresAtAnnotation] = write.expires_at;
}

void MarketPlay::Perform(std::size_t index, const provisioning::Action& action) {
  Job& job = jobs_[index];
  if (const auto* make = std::get_if<provisioning::CreateTemplate>(&action)) {
    job.templates.push_back({make->name, make->owner ? make->owner->uid : job.workload.meta.uid});
  } else if (const auto* own = std::get_if<provisioning::OwnTemplate>(&action)) {
    for (provisioning::TemplateSeen& each : job.templates) {
      if (each.name == own->name) each.controller_uid = own->owner.uid;
    }
  } else if (const auto* erase = std::get_if<provisioning::DeleteTemplate>(&action)) {
    std::erase_if(job.templates, [&](const auto& each) { return each.name == erase->name; });
  } else if (const auto* drop = std::get_if<provisioning::DeleteRequest>(&action)) {
    Drop(index, drop->name);
  } else if (const auto* ask = std::get_if<provisioning::CreateRequest>(&action)) {
    ++job.made;
    job.requests.push_back(ask->request);
    job.requests.back().meta.uid = "uid-of-" + ask->request.meta.name;
    job.requests.back().meta.creation_timestamp = now_;
    Ask(index, job.requests.back());
  }
}

void MarketPlay::Drop(std::size_t index, const std::string& request) {
  Job& job = jobs_[index];
  const std::string uid = "uid-of-" + request;
  open_.erase(uid);
  for (Pool& pool : pools_) {
    std::erase_if(pool.waiting, [&](const auto& each) { return each.second == request; });
  }
  std::erase_if(job.requests, [&](const auto& each) { return each.meta.name == request; });
  std::erase_if(job.templates, [&](const auto& each) { return each.controller_uid == uid; });
  if (job.requests.empty() && job.grant != 0) PayAndReturn(job, /*idles=*/true);
}

void MarketPlay::Follow(std::size_t index, const api::AdmissionCheckState& state) {
  Job& job = jobs_[index];
  job.workload.status.admission_checks.front() = state;
  switch (state.state) {
    case api::CheckState::kPending: break;
    case api::CheckState::kReady: Start(index); break;
    case api::CheckState::kRejected:
      job.workload.spec.active = false;
      Release(job);
      ++result_.given_up;
      break;
    case api::CheckState::kRetry:
      job.not_before = now_ + seconds(state.requeue_after_seconds.value_or(0));
      At(job.not_before, [this, index] { Settle(index); });
      Release(job);
      break;
  }
}

// Plays the queue: the Workload gives its quota back, and its check begins anew.
void MarketPlay::Release(Job& job) {
  api::AdmissionCheckState& check = job.workload.status.admission_checks.front();
  if (check.state == api::CheckState::kRetry) check.retry_count = check.retry_count.value_or(0) + 1;
  check.state = api::CheckState::kPending;
  check.message.clear();
  check.requeue_after_seconds.reset();
  check.pod_set_updates.clear();
  check.last_transition_time = now_;
  job.workload.status.admission.reset();
  SetCondition(job, api::kEvicted, true);
  SetCondition(job, api::kQuotaReserved, false);
  SetCondition(job, api::kAdmitted, false);
}

void MarketPlay::SetCondition(Job& job, const char* type, bool is_true) {
  api::SetCondition(job.workload.status.conditions,
                    {.type = type,
                     .status = is_true ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                     .reason = "Played",
                     .last_transition_time = now_});
}

// ---- The cloud.

std::size_t MarketPlay::PoolOf(const Job& job) const {
  const std::vector<std::string> flavors = provisioning::FlavorsOf(job.workload);
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (!flavors.empty() && pools_[i].market.flavor == flavors.front()) return i;
  }
  return 0;
}

api::ProvisioningRequest* MarketPlay::Find(Job& job, const std::string& request) {
  const auto found = std::find_if(job.requests.begin(), job.requests.end(),
                                  [&](const auto& each) { return each.meta.name == request; });
  return found == job.requests.end() ? nullptr : &*found;
}

void MarketPlay::Answer(std::size_t index, const std::string& request, const char* type,
                        bool is_true, const char* reason) {
  api::ProvisioningRequest* found = Find(jobs_[index], request);
  if (found == nullptr) return;
  api::SetCondition(found->conditions,
                    {.type = type,
                     .status = is_true ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                     .reason = reason,
                     .message = reason,
                     .last_transition_time = now_});
}

void MarketPlay::Ask(std::size_t index, const api::ProvisioningRequest& request) {
  const std::size_t pool = PoolOf(jobs_[index]);
  const std::string name = request.meta.name;
  Answer(index, name, "Accepted", true, "SuccessfullyQueued");
  if (pools_[pool].market.queues) {
    Forecast(index, request);
    pools_[pool].waiting.emplace_back(index, name);
    Answer(index, name, "Provisioned", false, "ResourcePoolExhausted");
    Serve(pool);
    return;
  }
  In(10 + 30 * jobs_[index].random.Unit(), [this, index, name, pool] {
    Job& job = jobs_[index];
    const Pool& asked = pools_[pool];
    if (Find(job, name) == nullptr) return;
    if (asked.in_stock && asked.used + job.nodes <= asked.market.nodes) {
      return Grant(index, name, pool);
    }
    Answer(index, name, "Failed", true, "ResourcePoolExhausted");
    Settle(index);
  });
}

// Requests are granted in order; a moment passes until the nodes are made.
void MarketPlay::Serve(std::size_t index) {
  Pool& pool = pools_[index];
  while (pool.in_stock && !pool.waiting.empty() &&
         pool.used + jobs_[pool.waiting.front().first].nodes <= pool.market.nodes) {
    const auto [job, request] = pool.waiting.front();
    pool.waiting.pop_front();
    pool.used += jobs_[job].nodes;  // reserved until the grant
    In(5 + 40 * jobs_[job].random.Unit(), [this, index, job = job, request = request] {
      pools_[index].used -= jobs_[job].nodes;
      if (Find(jobs_[job], request) == nullptr) return Serve(index);
      Grant(job, request, index);
    });
  }
}

void MarketPlay::Grant(std::size_t index, const std::string& request, std::size_t pool) {
  Job& job = jobs_[index];
  pools_[pool].used += job.nodes;
  job.pool = pool;
  job.granted_at = now_;
  job.grant = ++last_grant_;
  result_.dearest_usd_per_hour =
      std::max(result_.dearest_usd_per_hour, pools_[pool].market.usd_per_hour);
  Answer(index, request, "Provisioned", true, "Provisioned");
  Resolve("uid-of-" + request);
  Settle(index);
}

void MarketPlay::Start(std::size_t index) {
  Job& job = jobs_[index];
  SetCondition(job, api::kAdmitted, true);
  const double boot = 60 + 120 * job.random.Unit();
  const double rate = pools_[*job.pool].market.evictions_per_hour * static_cast<double>(job.nodes) /
                      kSecondsPerHour;
  const double length = boot + static_cast<double>(job.run_seconds);
  const double evicted_after = rate > 0 ? Exponential(job.random, 1 / rate) : length + 1;
  if (!job.started) {
    result_.waits_seconds.push_back(SecondsIn(now_ - job.arrived) + std::llround(boot));
  }
  job.started = true;
  const bool evicted = evicted_after < length;
  In(std::min(evicted_after, length), [this, index, evicted, grant = job.grant] {
    if (jobs_[index].grant == grant) End(index, evicted);
  });
}

void MarketPlay::End(std::size_t index, bool evicted) {
  Job& job = jobs_[index];
  PayAndReturn(job, /*idles=*/!evicted);
  if (evicted) {
    ++result_.evictions;
    Answer(index, job.requests.back().meta.name, "CapacityRevoked", true, "CapacityRevoked");
  } else {
    ++result_.finished;
    result_.useful_node_hours += static_cast<double>(job.nodes * job.run_seconds) / kSecondsPerHour;
    SetCondition(job, api::kFinished, true);
  }
  Settle(index);
}

void MarketPlay::PayAndReturn(Job& job, bool idles) {
  Pool& pool = pools_[*job.pool];
  const std::int64_t idle = idles ? kIdleSeconds : 0;
  const double paid = static_cast<double>(SecondsIn(now_ - job.granted_at) + idle);
  result_.usd += pool.market.usd_per_hour * static_cast<double>(job.nodes) * paid / kSecondsPerHour;
  job.grant = 0;
  In(static_cast<double>(idle), [this, pool = *job.pool, nodes = job.nodes] {
    pools_[pool].used -= nodes;
    Serve(pool);
  });
}

// ---- Forecasts.

api::StockKey MarketPlay::KeyOf(const Job& job) const {
  return provisioning::StockKeyOf(job.workload, config_, "", provisioning::FlavorsOf(job.workload))
      .value_or(api::StockKey{});
}

void MarketPlay::Forecast(std::size_t index, const api::ProvisioningRequest& request) {
  const Job& job = jobs_[index];
  const bool has_limit =
      job.policy == nullptr || job.policy->max_wait_seconds > 0 || !job.policy->steps.empty();
  if (has_limit) return;
  std::vector<provisioning::StillWaiting> waiting;
  for (const auto& [other, name] : pools_[PoolOf(job)].waiting) {
    const api::ProvisioningRequest* open = Find(jobs_[other], name);
    if (open == nullptr) continue;
    waiting.push_back({KeyOf(jobs_[other]), SecondsIn(now_ - open->meta.creation_timestamp)});
  }
  provisioning::StockMemory known;
  const std::string& name = request.provisioning_class_name;
  if (options_.forgets_open_waits) {
    api::ClassStock granted = stock_.Of(name);
    for (api::StockEntry& entry : granted) {
      std::erase_if(entry.outcomes, [](const api::StockOutcome& outcome) {
        return outcome.result != api::StockResult::kGranted;
      });
    }
    known.Merge(name, granted);
    waiting.clear();
  }
  const provisioning::WaitForecast forecast({.stock = options_.forgets_open_waits ? known : stock_,
                                             .provisioning_class = name,
                                             .key = KeyOf(job),
                                             .now = now_,
                                             .waiting = std::move(waiting)});
  const provisioning::Eta eta = forecast.eta();
  open_[request.meta.uid] = {now_, MarketForecast{.at = now_ - begin_,
                                                  .p10_seconds = eta.p10_seconds,
                                                  .p50_seconds = eta.p50_seconds,
                                                  .p90_seconds = eta.p90_seconds,
                                                  .chance_per_mille = forecast.ChanceWithin(3600)}};
}

void MarketPlay::Resolve(const std::string& uid) {
  const auto found = open_.find(uid);
  if (found == open_.end()) return;
  auto [asked_at, forecast] = found->second;
  forecast.wait_seconds = SecondsIn(now_ - asked_at);
  result_.forecasts.push_back(forecast);
  open_.erase(found);
}

}  // namespace berth::sim
