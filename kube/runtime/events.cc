#include "kube/runtime/events.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/log/log.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::kube {
namespace {

constexpr api::ResourceKind kEvent{"events.k8s.io", "v1", "Event", "events"};
constexpr std::size_t kMaxNoteBytes = 1024;
constexpr std::chrono::minutes kSeriesLife{10};
constexpr std::chrono::minutes kSeriesWriteEvery{1};
constexpr double kBudget = 25;
constexpr double kBudgetPerSecond = 0.1;

Json EncodeReference(const ObjectReference& object) {
  Json json = {
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.key.name}};
  if (!object.key.namespace_name.empty()) json["namespace"] = object.key.namespace_name;
  if (!object.uid.empty()) json["uid"] = object.uid;
  if (!object.resource_version.empty()) json["resourceVersion"] = object.resource_version;
  return json;
}

}  // namespace

EventRecorder::EventRecorder(ApiClient& client, const Clock& clock, Options options)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      random_(options_.seed),
      self_(std::make_shared<EventRecorder*>(this)) {}

void EventRecorder::Record(const ObjectReference& regarding, EventType type,
                           const std::string& reason, const std::string& action,
                           const std::string& note) {
  const WallTime now = clock_.Now();
  Sweep();
  const std::string object =
      regarding.uid.empty() ? regarding.kind + "/" + regarding.key.ToString() : regarding.uid;
  const std::string text(TruncateUtf8(note, kMaxNoteBytes));
  const auto [found, is_new] = series_.try_emplace({object, type, reason, text});
  Series& series = found->second;
  if (!is_new) {
    ++series.count;
    series.last_seen = now;
    if (now - series.last_written < kSeriesWriteEvery) return;
    series.last_written = now;
    Json patch = {
        {"series", {{"count", series.count}, {"lastObservedTime", FormatMicroTime(now)}}}};
    return Enqueue({false, series.event, std::make_shared<const Json>(std::move(patch))});
  }
  if (!Spend(object)) {
    series_.erase(found);
    ++dropped_;
    return;
  }
  // Events of cluster-scoped objects live in "default".
  series.event.namespace_name =
      regarding.key.namespace_name.empty() ? "default" : regarding.key.namespace_name;
  series.event.name =
      std::string(TruncateUtf8(regarding.key.name, 230)) + "." + random_.NameSuffix(16);
  series.last_seen = series.last_written = now;
  Json event = {
      {"apiVersion", kEvent.api_version()},
      {"kind", kEvent.kind},
      {"metadata", {{"name", series.event.name}, {"namespace", series.event.namespace_name}}},
      {"eventTime", FormatMicroTime(now)},
      {"type", type == EventType::kNormal ? "Normal" : "Warning"},
      {"reason", reason},
      {"action", action.empty() ? reason : action},
      {"note", text},
      {"regarding", EncodeReference(regarding)},
      {"reportingController", options_.controller},
      {"reportingInstance", options_.instance}};
  Enqueue({true, series.event, std::make_shared<const Json>(std::move(event))});
}

bool EventRecorder::Spend(const std::string& object) {
  const WallTime now = clock_.Now();
  const auto [found, is_new] = budgets_.try_emplace(object);
  Budget& budget = found->second;
  if (is_new) {
    budget.tokens = kBudget;
  } else {
    const double seconds = std::chrono::duration<double>(now - budget.refilled).count();
    budget.tokens = std::clamp(budget.tokens + seconds * kBudgetPerSecond, 0.0, kBudget);
  }
  budget.refilled = now;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

void EventRecorder::Sweep() {
  const WallTime now = clock_.Now();
  if (now - last_sweep_ < kSeriesWriteEvery) return;
  last_sweep_ = now;
  std::erase_if(series_,
                [&](const auto& entry) { return now - entry.second.last_seen > kSeriesLife; });
  std::erase_if(budgets_, [&](const auto& entry) {
    return std::chrono::duration<double>(now - entry.second.refilled).count() * kBudgetPerSecond >
           kBudget;
  });
}

void EventRecorder::Enqueue(Write write) {
  if (queue_.size() >= options_.max_queued) {
    ++dropped_;
    return;
  }
  queue_.push_back(std::move(write));
  Pump();
}

void EventRecorder::Pump() {
  while (in_flight_ < options_.max_in_flight && !queue_.empty()) {
    const Write write = std::move(queue_.front());
    queue_.pop_front();
    ++in_flight_;
    auto done = [weak = std::weak_ptr(self_)](const Result<JsonPtr>& answer) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      if (!answer) LogDebug("event not written", {{"error", answer.error().message}});
      --(*self)->in_flight_;
      (*self)->Pump();
    };
    const WriteOptions options{.field_manager = options_.controller};
    if (write.create) {
      client_.Create(kEvent, write.event.namespace_name, *write.body, options, std::move(done));
    } else {
      client_.Patch(kEvent, write.event, PatchType::kMerge, *write.body, options, std::move(done));
    }
  }
}

}  // namespace berth::kube
