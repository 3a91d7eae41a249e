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
constexpr api::ResourceKind kCoreEvent{"", "v1", "Event", "events"};
constexpr std::size_t kMaxNoteBytes = 1024;
constexpr std::size_t kMaxNameBytes = 230;
constexpr std::chrono::minutes kSeriesLife{10};
constexpr std::chrono::minutes kSeriesWriteEvery{1};
constexpr double kBudgetPerSecond = 0.1;

Json EncodeReference(const ObjectReference& object) {
  Json json = {
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.key.name}};
  if (!object.key.namespace_name.empty()) json["namespace"] = object.key.namespace_name;
  if (!object.uid.empty()) json["uid"] = object.uid;
  if (!object.resource_version.empty()) json["resourceVersion"] = object.resource_version;
  return json;
}

std::string WithoutNumbers(std::string_view text) {
  std::string shape;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !in_number) shape += digit ? '0' : c;
    in_number = digit;
  }
  return shape;
}

class ClientSink final : public EventSink {
 public:
  explicit ClientSink(ApiClient& client) : client_(client) {}

  void Create(const api::ResourceKind& kind, const std::string& namespace_name, Json event,
              const std::string& field_manager, Done done) override {
    client_.Create(kind, namespace_name, std::move(event), {.field_manager = field_manager},
                   Told(std::move(done)));
  }
  void Patch(const api::ResourceKind& kind, const api::ObjectKey& event, Json patch,
             const std::string& field_manager, Done done) override {
    client_.Patch(kind, event, PatchType::kMerge, std::move(patch),
                  {.field_manager = field_manager}, Told(std::move(done)));
  }

 private:
  static ApiClient::Done Told(Done done) {
    return [done = std::move(done)](const Result<JsonPtr>& answer) {
      done(answer ? OkStatus() : Status(answer.error()));
    };
  }

  ApiClient& client_;
};

}  // namespace

EventRecorder::EventRecorder(ApiClient& client, const Clock& clock, Options options)
    : EventRecorder(std::make_unique<ClientSink>(client), clock, std::move(options)) {}

EventRecorder::EventRecorder(std::unique_ptr<EventSink> sink, const Clock& clock, Options options)
    : sink_(std::move(sink)),
      clock_(clock),
      options_(std::move(options)),
      random_(options_.seed),
      event_api_(options_.first_api),
      self_(std::make_shared<EventRecorder*>(this)) {}

void EventRecorder::Record(const ObjectReference& regarding, EventType type,
                           const std::string& reason, const std::string& action,
                           const std::string& note) {
  const WallTime now = clock_.Now();
  Sweep();
  const std::string object =
      regarding.uid.empty() ? regarding.kind + "/" + regarding.key.ToString() : regarding.uid;
  const std::string text(TruncateUtf8(note, kMaxNoteBytes));
  // The same warning with other amounts is a repetition.
  const std::string shape = type == EventType::kWarning ? WithoutNumbers(text) : text;
  const auto [found, is_new] = series_.try_emplace({object, type, reason, shape});
  Series& series = found->second;
  if (!is_new) {
    oldest_first_.splice(oldest_first_.end(), oldest_first_, series.age);
    ++series.count;
    series.last_seen = now;
    if (now - series.last_written < kSeriesWriteEvery) return;
    series.last_written = now;
    return Enqueue({WriteKind::kUpdate, series});
  }
  if (!Spend(object)) {
    series_.erase(found);
    ++dropped_;
    return;
  }
  // Events of cluster-scoped objects are in the namespace "default".
  const std::string& space = regarding.key.namespace_name;
  series = {.event = {space.empty() ? "default" : space,
                      std::string(TruncateUtf8(regarding.key.name, kMaxNameBytes)) + "." +
                          random_.NameSuffix(16)},
            .regarding = regarding,
            .type = type,
            .reason = reason,
            .action = action.empty() ? reason : action,
            .note = text,
            .first_seen = now,
            .last_seen = now,
            .last_written = now,
            .age = oldest_first_.insert(oldest_first_.end(), found->first)};
  Enqueue({WriteKind::kCreate, series});
  if (series_.size() > options_.max_remembered) ForgetOldest();
}

void EventRecorder::ForgetOldest() {
  series_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

Json EventRecorder::EncodeWhole(const Series& series, EventApi event_api) const {
  Json event = {
      {"kind", kEvent.kind},
      {"metadata", {{"name", series.event.name}, {"namespace", series.event.namespace_name}}},
      {"type", series.type == EventType::kNormal ? "Normal" : "Warning"},
      {"reason", series.reason},
      {"action", series.action}};
  if (event_api == EventApi::kEvents) {
    event.update({{"apiVersion", kEvent.api_version()},
                  {"eventTime", FormatMicroTime(series.first_seen)},
                  {"note", series.note},
                  {"regarding", EncodeReference(series.regarding)},
                  {"reportingController", options_.controller},
                  {"reportingInstance", options_.instance}});
  } else {
    event.update({{"apiVersion", kCoreEvent.api_version()},
                  {"message", series.note},
                  {"involvedObject", EncodeReference(series.regarding)},
                  {"source", {{"component", options_.controller}}},
                  {"firstTimestamp", FormatTime(series.first_seen)},
                  {"lastTimestamp", FormatTime(series.last_seen)},
                  {"count", series.count},
                  {"reportingComponent", options_.controller},
                  {"reportingInstance", options_.instance}});
  }
  return event;
}

Json EventRecorder::EncodeRepeat(const Series& series, EventApi event_api) {
  if (event_api == EventApi::kCore) {
    return {{"count", series.count}, {"lastTimestamp", FormatTime(series.last_seen)}};
  }
  return {{"series",
           {{"count", series.count}, {"lastObservedTime", FormatMicroTime(series.last_seen)}}}};
}

bool EventRecorder::Spend(const std::string& object) {
  const WallTime now = clock_.Now();
  const auto [found, is_new] = budgets_.try_emplace(object);
  Budget& budget = found->second;
  if (is_new) {
    budget.tokens = options_.budget;
  } else {
    const double seconds = std::chrono::duration<double>(now - budget.refilled).count();
    budget.tokens = std::clamp(budget.tokens + seconds * kBudgetPerSecond, 0.0, options_.budget);
  }
  budget.refilled = now;
  const bool has_some = budget.tokens >= 1;
  if (has_some) budget.tokens -= 1;
  if (budgets_.size() > options_.max_remembered) {
    budgets_.erase(found == budgets_.begin() ? std::next(found) : budgets_.begin());
  }
  return has_some;
}

void EventRecorder::Sweep() {
  const WallTime now = clock_.Now();
  if (now - last_sweep_ < kSeriesWriteEvery) return;
  last_sweep_ = now;
  while (!oldest_first_.empty() &&
         now - series_.at(oldest_first_.front()).last_seen > kSeriesLife) {
    ForgetOldest();
  }
  std::erase_if(budgets_, [&](const auto& entry) {
    return std::chrono::duration<double>(now - entry.second.refilled).count() * kBudgetPerSecond >
           options_.budget;
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
    Write write = std::move(queue_.front());
    queue_.pop_front();
    ++in_flight_;
    const EventApi through = event_api_;
    const api::ResourceKind& kind = through == EventApi::kEvents ? kEvent : kCoreEvent;
    const Series& series = write.series;
    auto done = [weak = std::weak_ptr(self_), write, through](const Status& written) {
      if (const auto self = weak.lock()) (*self)->OnWritten(write, through, written);
    };
    if (write.kind == WriteKind::kCreate) {
      sink_->Create(kind, series.event.namespace_name, EncodeWhole(series, through),
                    options_.controller, std::move(done));
    } else {
      sink_->Patch(kind, series.event, EncodeRepeat(series, through), options_.controller,
                   std::move(done));
    }
  }
}

void EventRecorder::OnWritten(const Write& write, EventApi through, const Status& written) {
  --in_flight_;
  if (!written) {
    // A missing namespace is NotFound too, with a message that says so; the event is dropped then.
    const bool not_served = write.kind == WriteKind::kCreate && through == EventApi::kEvents &&
                            written.error().code == ErrorCode::kNotFound &&
                            written.error().message.find("namespaces") == std::string::npos;
    if (not_served) {
      event_api_ = EventApi::kCore;
      queue_.push_front(write);
    } else {
      LogDebug("event not written", {{"error", written.error().message}});
    }
  }
  Pump();
}

}  // namespace berth::kube
