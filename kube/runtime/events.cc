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
constexpr double kLeftForDecisions = 0.2;      // a share of an object's budget
constexpr std::size_t kShareOfCommentary = 4;  // commentary has one place of the queue in so many
constexpr std::chrono::hours kLongestWait{1};  // limits an event about a decision
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPauseOfEvents = std::chrono::seconds(30);
constexpr std::size_t kFlushedAtOnce = 32;

Json EncodeReference(const ObjectReference& object) {
  Json json = {
      {"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.key.name}};
  if (!object.key.namespace_name.empty()) json["namespace"] = object.key.namespace_name;
  if (!object.uid.empty()) json["uid"] = object.uid;
  if (!object.resource_version.empty()) json["resourceVersion"] = object.resource_version;
  return json;
}

// Whether the API server may take the event later.
bool MayPass(const Error& error) {
  switch (error.code) {
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal: return true;
    default: return false;
  }
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

std::string NameOf(const ObjectReference& object) {
  return object.uid.empty() ? object.kind + "/" + object.key.ToString() : object.uid;
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
    : EventRecorder(std::make_unique<ClientSink>(client), &client.executor(), clock,
                    std::move(options)) {}

EventRecorder::EventRecorder(std::unique_ptr<EventSink> sink, const Clock& clock, Options options)
    : EventRecorder(std::move(sink), nullptr, clock, std::move(options)) {}

EventRecorder::EventRecorder(std::unique_ptr<EventSink> sink, Executor* executor,
                             const Clock& clock, Options options)
    : sink_(std::move(sink)),
      clock_(clock),
      options_(std::move(options)),
      random_(options_.seed),
      event_api_(options_.first_api),
      decisions_(options_.max_queued, EventQueue::Superseded::kStays),
      commentary_(std::max<std::size_t>(1, options_.max_queued / kShareOfCommentary),
                  EventQueue::Superseded::kGivesWay),
      executor_(executor),
      self_(std::make_shared<EventRecorder*>(this)) {}

void EventRecorder::Record(const ObjectReference& regarding, EventType type,
                           const std::string& reason, const std::string& action,
                           const std::string& note, EventRank rank) {
  const WallTime now = clock_.Now();
  Sweep();
  const std::string object = NameOf(regarding);
  const std::string text(TruncateUtf8(note, kMaxNoteBytes));
  // The same warning with other amounts is a repetition.
  const std::string shape = type == EventType::kWarning ? WithoutNumbers(text) : text;
  const auto [found, is_new] = series_.try_emplace({object, type, reason, shape});
  if (!is_new) return Repeat(found, now);
  if (!Spend(object, rank)) {
    series_.erase(found);
    return CountDropped(Dropped::kBudget);
  }
  // Events of cluster-scoped objects are in the namespace "default".
  const std::string& space = regarding.key.namespace_name;
  found->second = {.event = {space.empty() ? "default" : space,
                             std::string(TruncateUtf8(regarding.key.name, kMaxNameBytes)) + "." +
                                 random_.NameSuffix(16)},
                   .regarding = regarding,
                   .action = action.empty() ? reason : action,
                   .note = text,
                   .rank = rank,
                   .first_seen = now,
                   .last_seen = now,
                   .last_written = now,
                   .age = oldest_first_.insert(oldest_first_.end(), &found->first)};
  if (series_.size() > options_.max_remembered) Forget(series_.find(*oldest_first_.front()));
  Enqueue(found);
}

void EventRecorder::Supersede(const ObjectReference& regarding, EventType type,
                              const std::string& reason) {
  const std::string object = NameOf(regarding);
  auto found = series_.lower_bound({object, type, reason, ""});
  while (found != series_.end() && found->first.object == object && found->first.type == type &&
         found->first.reason == reason) {
    const auto which = found++;
    const Series& series = which->second;
    if (!series.place || series.created) continue;
    QueueOf(series).Remove(*series.place);
    Erase(which);
  }
}

void EventRecorder::Repeat(AllSeries::iterator which, WallTime now) {
  Series& series = which->second;
  oldest_first_.splice(oldest_first_.end(), oldest_first_, series.age);
  ++series.count;
  series.last_seen = now;
  if (series.place || now - series.last_written < kSeriesWriteEvery) return;
  series.last_written = now;
  Enqueue(which);
}

void EventRecorder::Forget(AllSeries::iterator which) {
  const Series& series = which->second;
  if (series.place) {
    QueueOf(series).Remove(*series.place);
    if (!series.created) CountDropped(Dropped::kQueue);
  }
  Erase(which);
}

void EventRecorder::Erase(AllSeries::iterator which) {
  oldest_first_.erase(which->second.age);
  series_.erase(which);
}

Json EventRecorder::EncodeWhole(const EventSeries& key, const Series& series) const {
  Json event = {
      {"kind", kEvent.kind},
      {"metadata", {{"name", series.event.name}, {"namespace", series.event.namespace_name}}},
      {"type", key.type == EventType::kNormal ? "Normal" : "Warning"},
      {"reason", key.reason},
      {"action", series.action}};
  if (event_api_ == EventApi::kEvents) {
    event.update({{"apiVersion", kEvent.api_version()},
                  {"eventTime", FormatMicroTime(series.first_seen)},
                  {"note", series.note},
                  {"regarding", EncodeReference(series.regarding)},
                  {"reportingController", options_.controller},
                  {"reportingInstance", options_.instance}});
    if (series.count > 1) event.update(EncodeRepeat(series));
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

Json EventRecorder::EncodeRepeat(const Series& series) const {
  if (event_api_ == EventApi::kCore) {
    return {{"count", series.count}, {"lastTimestamp", FormatTime(series.last_seen)}};
  }
  return {{"series",
           {{"count", series.count}, {"lastObservedTime", FormatMicroTime(series.last_seen)}}}};
}

bool EventRecorder::Spend(const std::string& object, EventRank rank) {
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
  const double left = rank == EventRank::kCommentary ? options_.budget * kLeftForDecisions : 0;
  const bool has_some = budget.tokens >= 1 + left;
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
  for (std::size_t left = oldest_first_.size(); left > 0; --left) {
    const auto oldest = series_.find(*oldest_first_.front());
    Series& series = oldest->second;
    if (now - series.last_seen <= kSeriesLife) break;
    const bool waits = series.place && !series.created && series.rank == EventRank::kDecision;
    if (waits && now - series.first_seen <= kLongestWait) {
      oldest_first_.splice(oldest_first_.end(), oldest_first_, series.age);
      continue;
    }
    Forget(oldest);
  }
  std::erase_if(budgets_, [&](const auto& entry) {
    return std::chrono::duration<double>(now - entry.second.refilled).count() * kBudgetPerSecond >
           options_.budget;
  });
}

EventQueue& EventRecorder::QueueOf(const Series& series) {
  const bool is_commentary = series.created || series.rank == EventRank::kCommentary;
  return is_commentary ? commentary_ : decisions_;
}

void EventRecorder::Enqueue(AllSeries::iterator which) {
  const EventQueue::Pushed pushed = QueueOf(which->second).Push(which->first);
  which->second.place = pushed.place;
  if (pushed.dropped != nullptr) OnDropped(*pushed.dropped);
  Pump();
}

// An Event that exists keeps its series: its next repetition writes the count.
void EventRecorder::OnDropped(const EventSeries& key) {
  const auto found = series_.find(key);
  found->second.place.reset();
  if (found->second.created) return;
  CountDropped(Dropped::kQueue);
  Forget(found);
}

void EventRecorder::CountDropped(Dropped why) {
  ++dropped_;
  if (on_drop_) on_drop_(why);
}

std::optional<EventRank> EventRecorder::NextRank() const {
  if (commentary_.empty() && decisions_.empty()) return std::nullopt;
  if (commentary_.empty()) return EventRank::kDecision;
  const bool due =
      decisions_.empty() || (executor_ != nullptr && pace_.CommentaryIsDue(clock_.SteadyNow()));
  return due ? EventRank::kCommentary : EventRank::kDecision;
}

Duration EventRecorder::WaitFor(EventRank rank) {
  if (executor_ == nullptr) return Duration::zero();
  const SteadyTime now = clock_.SteadyNow();
  if (now < attempt_after_) return attempt_after_ - now;
  if (on_flushed_) return Duration::zero();
  return pace_.Take(
      now, rank == EventRank::kDecision ? WritePace::Rank::kFact : WritePace::Rank::kCommentary);
}

void EventRecorder::Pump() {
  const std::size_t at_once = on_flushed_ ? kFlushedAtOnce : options_.max_in_flight;
  while (in_flight_ < at_once) {
    const std::optional<EventRank> rank = NextRank();
    if (!rank) return EndFlush();
    if (const Duration wait = WaitFor(*rank); wait > Duration::zero()) return PumpAfter(wait);
    Send(series_.find(*(*rank == EventRank::kDecision ? decisions_ : commentary_).Pop()));
  }
}

void EventRecorder::Flush(std::function<void()> done) {
  on_flushed_ = std::move(done);
  attempt_after_ = {};
  Pump();
}

void EventRecorder::EndFlush() {
  if (on_flushed_ && in_flight_ == 0) std::exchange(on_flushed_, nullptr)();
}

void EventRecorder::PumpAfter(Duration wait) {
  if (std::exchange(pump_posted_, true)) return;
  executor_->PostAfter(wait, [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    (*self)->pump_posted_ = false;
    (*self)->Pump();
  });
}

void EventRecorder::Send(AllSeries::iterator which) {
  Series& series = which->second;
  series.place.reset();
  const bool creates = !std::exchange(series.created, true);
  ++in_flight_;
  const api::ResourceKind& kind = event_api_ == EventApi::kEvents ? kEvent : kCoreEvent;
  Sent sent{.key = which->first,
            .name = series.event.name,
            .creates = creates,
            .through = event_api_,
            .at = clock_.SteadyNow()};
  auto done = [weak = std::weak_ptr(self_), sent = std::move(sent)](const Status& written) {
    if (const auto self = weak.lock()) (*self)->OnWritten(sent, written);
  };
  if (creates) {
    sink_->Create(kind, series.event.namespace_name, EncodeWhole(which->first, series),
                  options_.controller, std::move(done));
  } else {
    sink_->Patch(kind, series.event, EncodeRepeat(series), options_.controller, std::move(done));
  }
}

void EventRecorder::Measure(const Sent& sent, const Status& written) {
  const SteadyTime now = clock_.SteadyNow();
  if (written || !MayPass(written.error())) {
    pause_ = Duration::zero();
    attempt_after_ = {};
  } else if (now >= attempt_after_) {  // among answers that come together, the first counts
    pause_ = std::clamp<Duration>(pause_ * 2, kFirstPause, kLongestPauseOfEvents);
    attempt_after_ = now + pause_;
  }
  if (written) return pace_.OnAnswer(now, now - sent.at);
  switch (written.error().code) {
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded: return pace_.OnAnswer(now, WritePace::kThrottled);
    default: return;
  }
}

// The server refused the write, or its answer was lost. If the create did succeed, the retry gets
// kAlreadyExists (409) for the same name, and OnWritten treats that as success.
void EventRecorder::OnFailed(const Sent& sent, AllSeries::iterator which, const Error& error) {
  const Series& series = which->second;
  // A missing namespace is NotFound too, with a message that says so; the event is lost then.
  const bool not_served = sent.through == EventApi::kEvents && error.code == ErrorCode::kNotFound &&
                          error.message.find("namespaces") == std::string::npos;
  if (not_served) event_api_ = EventApi::kCore;
  const bool waits = executor_ != nullptr && series.rank == EventRank::kDecision &&
                     MayPass(error) && clock_.Now() - series.first_seen <= kLongestWait;
  if (not_served || waits) return WriteAgain(which);
  CountDropped(Dropped::kRefused);
  Forget(which);
}

// A repetition that waits is part of the next create.
void EventRecorder::WriteAgain(AllSeries::iterator which) {
  Series& series = which->second;
  if (series.place) QueueOf(series).Remove(*series.place);
  series.created = false;
  Enqueue(which);
}

void EventRecorder::OnWritten(const Sent& sent, const Status& written) {
  --in_flight_;
  Measure(sent, written);
  const auto found = series_.find(sent.key);
  const bool known = found != series_.end() && found->second.event.name == sent.name;
  const bool exists = !written && written.error().code == ErrorCode::kAlreadyExists;
  if (!written && !exists) {
    LogDebug("event not written", {{"error", written.error().message}});
    if (sent.creates && known) {
      OnFailed(sent, found, written.error());
    } else if (sent.creates) {
      CountDropped(Dropped::kRefused);  // forgotten meanwhile
    }
  }
  Pump();
}

}  // namespace berth::kube
