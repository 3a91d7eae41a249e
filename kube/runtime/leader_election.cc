#include "kube/runtime/leader_election.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/log/log.h"
#include "base/rfc3339.h"

namespace berth::kube {
namespace {

constexpr api::ResourceKind kLease{"coordination.k8s.io", "v1", "Lease", "leases"};

// The intervals of a follower's reads, in retry periods: a follower counts the lease from its own
// sight of the last renewal, so a late read delays its takeover. The intervals are random, so that
// followers do not read at the same instant.
constexpr double kShortestLook = 0.4;
constexpr double kLongestLook = 0.8;

std::string HolderOf(const Json& lease) {
  const auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return {};
  const auto holder = spec->find("holderIdentity");
  return holder != spec->end() && holder->is_string() ? holder->get<std::string>() : std::string();
}

std::string VersionOf(const Json& lease) {
  const auto metadata = lease.find("metadata");
  if (metadata == lease.end() || !metadata->is_object()) return {};
  return metadata->value("resourceVersion", "");
}

}  // namespace

LeaderElector::LeaderElector(ApiClient& client, const Clock& clock, LeaderElectionOptions options,
                             std::function<void()> on_started_leading,
                             std::function<void()> on_stopped_leading)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      on_started_(std::move(on_started_leading)),
      on_stopped_(std::move(on_stopped_leading)),
      random_(options_.seed),
      self_(std::make_shared<LeaderElector*>(this)) {}

void LeaderElector::Start() { Try(); }

void LeaderElector::Try() {
  if (stopped_) return;
  client_.Get(kLease, options_.lease, [weak = std::weak_ptr(self_)](const Result<JsonPtr>& lease) {
    if (const auto self = weak.lock()) (*self)->OnLease(lease);
  });
}

void LeaderElector::OnLease(const Result<JsonPtr>& lease) {
  if (stopped_) return;
  if (!lease && lease.error().code == ErrorCode::kNotFound) return OnMissing();
  if (!lease) {
    LogWarning("reading the lease failed", {{"error", lease.error().message}});
    return Next();
  }
  Observe(**lease);
  if (StopIfLost()) return;
  const bool ours = holder_ == options_.identity;
  const bool gone = !options_.predecessors.empty() &&
                    holder_.compare(0, options_.predecessors.size(), options_.predecessors) == 0;
  const bool free =
      holder_.empty() || gone || clock_.SteadyNow() - observed_at_ >= options_.lease_duration;
  if (!ours && !free) return Next();
  attempted_at_ = clock_.SteadyNow();
  // Carries the resourceVersion that was read: one of two concurrent claims gets a conflict.
  client_.Update(kLease, options_.lease, Claim(**lease), {.field_manager = options_.identity},
                 [weak = std::weak_ptr(self_)](const Result<JsonPtr>& answer) {
                   if (const auto self = weak.lock()) (*self)->OnWritten(answer);
                 });
}

// The holder of a lease that was deleted writes until the holder's own time runs out.
void LeaderElector::OnMissing() {
  const bool held = !is_leader_ && !observed_record_.empty() && !holder_.empty() &&
                    clock_.SteadyNow() - observed_at_ < options_.lease_duration;
  if (StopIfLost()) return;
  if (held) return Next();
  const Json fresh = {{"apiVersion", kLease.api_version()},
                      {"kind", kLease.kind},
                      {"metadata", {{"name", options_.lease.name}}}};
  attempted_at_ = clock_.SteadyNow();
  client_.Create(kLease, options_.lease.namespace_name, Claim(fresh),
                 {.field_manager = options_.identity},
                 [weak = std::weak_ptr(self_)](const Result<JsonPtr>& answer) {
                   if (const auto self = weak.lock()) (*self)->OnWritten(answer);
                 });
}

WriteWindow LeaderElector::write_window() const {
  if (!is_leader_) return {};
  return {.begin_before = renewed_at_ + options_.renew_deadline,
          .end_before = renewed_at_ + options_.lease_duration};
}

void LeaderElector::OnWritten(const Result<JsonPtr>& lease) {
  if (stopped_) return;
  if (!lease) {
    LogWarning("writing the lease failed", {{"error", lease.error().message}});
    return Next();
  }
  Observe(**lease);
  // Followers may have seen the renewal long before this answer and count from then, so the leader
  // counts from its request: it must give up first.
  renewed_at_ = attempted_at_;
  if (clock_.SteadyNow() - renewed_at_ >= options_.renew_deadline) return Next();
  GiveUpUnlessRenewed();
  if (!std::exchange(is_leader_, true)) {
    LogInfo("leading", {{"lease", options_.lease.ToString()}, {"identity", options_.identity}});
    on_started_();
  }
  Next();
}

void LeaderElector::Observe(const Json& lease) {
  std::string record = lease.contains("spec") ? api::FormatJson(lease["spec"]) : "";
  holder_ = HolderOf(lease);
  observed_version_ = VersionOf(lease);
  if (record == observed_record_) return;
  observed_record_ = std::move(record);
  observed_at_ = clock_.SteadyNow();
}

// The deadline does not wait for answers: a hanging request must not extend leadership.
void LeaderElector::GiveUpUnlessRenewed() {
  const Duration left = renewed_at_ + options_.renew_deadline - clock_.SteadyNow();
  client_.executor().PostAfter(left, [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->StopIfLost();
  });
}

bool LeaderElector::StopIfLost() {
  const bool renewed =
      holder_ == options_.identity && clock_.SteadyNow() - renewed_at_ < options_.renew_deadline;
  if (!is_leader_ || renewed) return false;
  is_leader_ = false;
  stopped_ = true;
  LogError("lost the lease", {{"lease", options_.lease.ToString()}, {"holder", holder_}});
  on_stopped_();
  return true;
}

Duration LeaderElector::UntilNextTry() {
  if (is_leader_) return options_.retry_period;
  const auto period = static_cast<double>(options_.retry_period.count());
  const Duration look(static_cast<std::int64_t>(
      (kShortestLook + (kLongestLook - kShortestLook) * random_.Unit()) * period));
  const Duration until_free = observed_at_ + options_.lease_duration - clock_.SteadyNow();
  return until_free > Duration::zero() ? std::min(look, until_free) : look;
}

void LeaderElector::Next() {
  if (StopIfLost()) return;
  client_.executor().PostAfter(UntilNextTry(), [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->Try();
  });
}

Json LeaderElector::Claim(Json lease) const {
  const std::string now = FormatMicroTime(clock_.Now());
  Json& spec = lease["spec"];
  if (!spec.is_object()) spec = Json::object();
  if (HolderOf(lease) != options_.identity) {
    const auto transitions = spec.find("leaseTransitions");
    const bool counted = transitions != spec.end() && transitions->is_number_integer() &&
                         *transitions >= 0 && *transitions < INT32_MAX;
    const int before = counted ? transitions->get<int>() + 1 : 0;
    spec["leaseTransitions"] = before;
    spec["acquireTime"] = now;
  }
  spec["holderIdentity"] = options_.identity;
  // A Lease has whole seconds; another replica must not count fewer.
  spec["leaseDurationSeconds"] =
      std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count();
  spec["renewTime"] = now;
  return lease;
}

void LeaderElector::Release(std::function<void()> done) {
  stopped_ = true;
  if (!std::exchange(is_leader_, false)) return done();
  Json patch = {{"spec", {{"holderIdentity", ""}, {"leaseDurationSeconds", 1}}}};
  // The resourceVersion protects another holder's lease. If a renewal is under way, either write
  // gets a conflict; then the lease expires.
  if (!observed_version_.empty()) patch["metadata"]["resourceVersion"] = observed_version_;
  client_.Patch(kLease, options_.lease, PatchType::kMerge, std::move(patch),
                {.field_manager = options_.identity},
                [done = std::move(done)](const Result<JsonPtr>&) { done(); });
}

}  // namespace berth::kube
