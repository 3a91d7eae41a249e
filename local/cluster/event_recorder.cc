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

}  // namespace

EventRecorder::EventRecorder(Api& api, const Clock& clock, std::string component)
    : api_(api), clock_(clock), component_(std::move(component)) {}

void EventRecorder::Record(const Json& object, EventType type, const std::string& reason,
                           const std::string& message) {
  const Same same{UidOf(object), reason, message};
  if (const auto known = known_.find(same); known != known_.end()) {
    if (CountAgain(known->second)) return;
    oldest_first_.erase(known->second.age);
    known_.erase(known);
  }
  const WallTime now = clock_.Now();
  const std::string namespace_name = NamespaceOf(object).empty() ? "default" : NamespaceOf(object);
  const Json about = {{"apiVersion", StringAt(object, {"apiVersion"})},
                      {"kind", StringAt(object, {"kind"})},
                      {"namespace", NamespaceOf(object)},
                      {"name", NameOf(object)},
                      {"uid", UidOf(object)},
                      {"resourceVersion", StringAt(object, {"metadata", "resourceVersion"})}};
  Json event = {{"apiVersion", "v1"},
                {"kind", "Event"},
                {"metadata", {{"namespace", namespace_name}}},
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
  // <object>.<hex nanoseconds>; another component may have had the same instant.
  const auto nanos = std::chrono::nanoseconds(now.time_since_epoch()).count();
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}.{:x}", NameOf(object),
                                         nanos + static_cast<std::int64_t>(sequence_++ % 1000));
    event["metadata"]["name"] = name;
    const auto created = api_.Create(kEvents, namespace_name, event, {});
    if (created) return Remember(same, namespace_name, name);
    if (created.error().reason == "AlreadyExists" && attempt < 8) continue;
    LogWarning("event not written", {{"reason", reason}, {"error", created.error().message}});
    return;
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

bool EventRecorder::CountAgain(Known& known) {
  oldest_first_.splice(oldest_first_.end(), oldest_first_, known.age);
  const Json patch = {{"count", ++known.count}, {"lastTimestamp", FormatTime(clock_.Now())}};
  const auto patched =
      api_.Patch(kEvents, known.namespace_name, known.name, PatchType::kMerge, patch, {});
  return patched || patched.error().reason != "NotFound";
}

}  // namespace berth::local::cluster
