#include "integrations/controller/gated_pods.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/log/log.h"

namespace berth::integrations {
namespace {

constexpr Duration kPodsAreRead = std::chrono::milliseconds(100);

// The write may have happened all the same.
bool IsOutcomeUnknown(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded ||
         error.code == ErrorCode::kInternal || error.code == ErrorCode::kConflict;
}

}  // namespace

struct GatedPods::Writes {
  std::shared_ptr<Pass> pass;
  std::vector<Write> plan;
  std::size_t next = 0;
  std::size_t in_flight = 0;
  std::optional<Error> error;  // the first error
};

GatedPods::GatedPods(kube::Manager& manager, std::size_t max_in_flight)
    : manager_(manager), max_in_flight_(std::max<std::size_t>(max_in_flight, 1)) {}

kube::Informer<api::Pod>& GatedPods::Open() {
  if (pods_ == nullptr) pods_ = &manager_.InformerFor<api::Pod>();
  return *pods_;
}

void GatedPods::Run(Pass pass) {
  auto shared = std::make_shared<Pass>(std::move(pass));
  const auto unknown = unknown_.find(shared->key);
  if (unknown == unknown_.end()) return Begin(shared);
  ReadBack(shared, {unknown->second.begin(), unknown->second.end()});
}

// Reads one after the other; an error makes the queue retry.
void GatedPods::ReadBack(std::shared_ptr<Pass> pass, std::vector<api::ObjectKey> pods) {
  if (pods.empty()) return Begin(pass);
  const api::ObjectKey pod = pods.back();
  pods.pop_back();
  manager_.client().Get(api::KindOf<api::Pod>(), pod,
                        [this, pod, pods = std::move(pods),
                         pass = std::move(pass)](const Result<kube::JsonPtr>& answer) mutable {
                          const bool gone = !answer && answer.error().code == ErrorCode::kNotFound;
                          if (!answer && !gone) return pass->done(answer.error());
                          if (!gone && *answer != nullptr) pods_->Ingest(**answer);
                          if (const auto open = unknown_.find(pass->key); open != unknown_.end()) {
                            open->second.erase(pod);
                            if (open->second.empty()) unknown_.erase(open);
                          }
                          ReadBack(std::move(pass), std::move(pods));
                        });
}

void GatedPods::Begin(const std::shared_ptr<Pass>& pass) {
  if (pods_ == nullptr) return pass->done(kube::NextLook{});
  if (!pods_->has_synced()) return pass->done(kube::NextLook{kPodsAreRead});
  auto writes = std::make_shared<Writes>();
  writes->pass = pass;
  writes->plan = pass->plan();
  if (writes->plan.empty()) return pass->done(kube::NextLook{});
  LogDebug("pods let go",
           {{"of", pass->key.ToString()}, {"count", std::to_string(writes->plan.size())}});
  Next(writes);
}

void GatedPods::Next(const std::shared_ptr<Writes>& writes) {
  while (writes->in_flight < max_in_flight_ && writes->next < writes->plan.size()) {
    const Write& one = writes->plan[writes->next++];
    ++writes->in_flight;
    const api::ObjectKey pod = one.pod->meta.key();
    manager_.client().Patch(api::KindOf<api::Pod>(), pod, kube::PatchType::kMerge, *one.patch, {},
                            [this, writes, pod](const Result<kube::JsonPtr>& answer) {
                              OnWritten(writes, pod, answer);
                            });
  }
}

void GatedPods::OnWritten(const std::shared_ptr<Writes>& writes, const api::ObjectKey& pod,
                          const Result<kube::JsonPtr>& answer) {
  --writes->in_flight;
  if (answer) {
    if (*answer != nullptr) pods_->Ingest(**answer);
    if (writes->pass->on_written) writes->pass->on_written();
  } else if (answer.error().code != ErrorCode::kNotFound) {
    if (IsOutcomeUnknown(answer.error())) unknown_[writes->pass->key].insert(pod);
    if (!writes->error) {
      writes->error = Annotate(answer.error(), "letting pod " + pod.ToString() + " go");
    }
  }
  if (writes->next < writes->plan.size()) return Next(writes);
  if (writes->in_flight > 0) return;
  if (!writes->error) return writes->pass->done(kube::NextLook{});
  // A conflict, or no answer: retries on the present state.
  Error error = *writes->error;
  if (error.code == ErrorCode::kConflict) return writes->pass->done(kube::NextLook{kPodsAreRead});
  writes->pass->done(std::move(error));
}

kube::JsonPtr UngatePatch(const api::Pod& pod, const char* gate,
                          const api::StringMap& node_selector, const api::StringMap& annotations) {
  using Json = nlohmann::json;
  Json gates = Json::array();
  for (const std::string& each : pod.spec.scheduling_gates) {
    if (each != gate) gates.push_back({{"name", each}});
  }
  Json patch = {
      {"metadata", {{"uid", pod.meta.uid}, {"resourceVersion", pod.meta.resource_version}}},
      {"spec", {{"schedulingGates", std::move(gates)}}}};
  if (!node_selector.empty()) patch["spec"]["nodeSelector"] = node_selector;
  if (!annotations.empty()) patch["metadata"]["annotations"] = annotations;
  return std::make_shared<const Json>(std::move(patch));
}

}  // namespace berth::integrations
