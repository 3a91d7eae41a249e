#include "local/cluster/event_recorder.h"

#include <fmt/format.h>

#include "base/log/log.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/cluster/fields.h"
#include "local/cluster/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kMostKnown = 1024;
constexpr std::size_t kMessageBytes = 1024;  // what the API accepts
constexpr int kMostWaiting = 10'000;

// Nothing follows from an event: the thread that writes it has better things to do than to wait
// for the disk.
WriteOptions Unwaited() {
  WriteOptions options;
  options.wait = WriteWait::kSubmitted;
  return options;
}

}  // namespace

EventRecorder::EventRecorder(Api& api, const Clock& clock, Executor& writes, std::string component)
    : api_(api), clock_(clock), writes_(writes), component_(std::move(component)) {}

void EventRecorder::Record(const Json& object, EventType type, const std::string& reason,
                           const std::string& message) {
  if (waiting_count_ >= kMostWaiting) {
    LogWarning("event dropped", {{"reason", reason}, {"object", ToString(KeyOf(object))}});
    return;
  }
  const WallTime now = clock_.Now();
  const std::string namespace_name = NamespaceOf(object).empty() ? "default" : NamespaceOf(object);
  // <object>.<hex nanoseconds>; Write tells apart what happens at the same instant.
  const std::string name = fmt::format("{}.{:x}", NameOf(object),
                                       std::chrono::nanoseconds(now.time_since_epoch()).count());
  const Json about = {{"apiVersion", StringAt(object, {"apiVersion"})},
                      {"kind", StringAt(object, {"kind"})},
                      {"namespace", NamespaceOf(object)},
                      {"name", NameOf(object)},
                      {"uid", UidOf(object)},
                      {"resourceVersion", StringAt(object, {"metadata", "resourceVersion"})}};
  Json event = {{"apiVersion", "v1"},
                {"kind", "Event"},
                {"metadata", {{"name", name}, {"namespace", namespace_name}}},
                {"involvedObject", about},
                {"type", type == EventType::kWarning ? "Warning" : "Normal"},
                {"reason", reason},
                {"message", std::string(TruncateUtf8(message, kMessageBytes))},
                {"source", {{"component", component_}}},
                {"reportingComponent", component_},
                {"reportingInstance", ""},
                {"firstTimestamp", FormatTime(now)},
                {"lastTimestamp", FormatTime(now)},
                {"count", 1}};
  ++waiting_count_;
  writes_.Post([this, same = Same{UidOf(object), reason, message}, event = std::move(event),
                alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    --waiting_count_;
    Write(same, event);
  });
}

void EventRecorder::Write(const Same& same, Json event) {
  if (const auto known = known_.find(same); known != known_.end()) {
    if (CountAgain(known->second, event)) return;
    oldest_first_.erase(known->second.age);
    known_.erase(known);
  }
  const std::string namespace_name = NamespaceOf(event);
  const std::string stem = NameOf(event);
  for (int attempt = 0;; ++attempt) {
    const auto created = api_.Create(kEvents, namespace_name, event, Unwaited());
    if (created) return Remember(same, namespace_name, NameOf(event));
    if (created.error().reason != "AlreadyExists" || attempt == 8) {
      LogWarning("event not written",
                 {{"reason", std::get<1>(same)}, {"error", created.error().message}});
      return;
    }
    event["metadata"]["name"] = fmt::format("{}{:x}", stem, sequence_++ % 4096);
  }
}

void EventRecorder::Remember(const Same& same, const std::string& namespace_name,
                             const std::string& name) {
  oldest_first_.push_back(same);
  known_[same] = Known{namespace_name, name, 1, std::prev(oldest_first_.end())};
  if (known_.size() <= kMostKnown) return;
  known_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

bool EventRecorder::CountAgain(Known& known, const Json& event) {
  oldest_first_.splice(oldest_first_.end(), oldest_first_, known.age);
  const Json patch = {{"count", ++known.count}, {"lastTimestamp", event.at("lastTimestamp")}};
  const auto patched =
      api_.Patch(kEvents, known.namespace_name, known.name, PatchType::kMerge, patch, Unwaited());
  return patched || patched.error().reason != "NotFound";
}

}  // namespace berth::local::cluster
