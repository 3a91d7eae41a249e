#include "scenarios/world/sim_transport.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/strings.h"
#include "kube/client/status_error.h"
#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/registry/status_errors.h"
#include "scenarios/world/sim_request.h"

namespace berth::sim {
namespace {

constexpr std::size_t kBatch = 256;  // events of one task
constexpr std::int64_t kDefaultLifetimeSeconds = 1800;
constexpr std::size_t kRemembered = 16;  // events that can be repeated

Error ToError(const local::ApiError& error) {
  const local::Json status = local::StatusOf(error);
  return kube::ErrorFromStatus(error.code, &status);
}

Error Unavailable() { return {ErrorCode::kUnavailable, "the connection broke"}; }

Error TimedOut() { return {ErrorCode::kDeadlineExceeded, "no answer in time"}; }

kube::ApiResponse Failure(int code, const char* reason, const char* message) {
  return ErrorResponse({code, reason, message, local::Json()});
}

// Whether the request reaches the API server's storage.
bool Happens(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kLostAnswer || fault == Fault::kSlow ||
         fault == Fault::kOvertaken || fault == Fault::kTimeoutAfter ||
         fault == Fault::kDoneThenSwallow;
}

bool IsSwallowed(Fault fault) {
  return fault == Fault::kSwallow || fault == Fault::kDoneThenSwallow;
}

// The client's result if the server answered `response`.
Result<kube::ApiResponse> Heard(Fault fault, kube::ApiResponse response) {
  switch (fault) {
    case Fault::kConflict: return Failure(409, "Conflict", "the object has been modified");
    case Fault::kServerError: return Failure(500, "InternalError", "etcdserver: leader changed");
    case Fault::kTooMany: {
      kube::ApiResponse later = Failure(429, "TooManyRequests", "please try again later");
      later.retry_after = std::chrono::seconds(1);
      return later;
    }
    case Fault::kUnavailable:
    case Fault::kLostAnswer: return Error{Unavailable()};
    case Fault::kTimeoutBefore:
    case Fault::kTimeoutAfter: return Error{TimedOut()};
    default: return response;
  }
}

// An object as if written, at a revision that does not exist.
kube::ApiResponse FalseAnswer(local::Registry& registry, const kube::ApiRequest& request) {
  const std::string path = request.path.substr(0, request.path.find('?'));
  const std::size_t status = path.rfind("/status");
  kube::ApiResponse answer =
      Answer(registry,
             {"GET", path.substr(0, status == std::string::npos ? path.size() : status), "", {}});
  if (answer.body == nullptr || !answer.body->is_object()) return answer;
  local::Json object = *answer.body;
  object["metadata"]["resourceVersion"] =
      std::to_string(registry.store().cache().revision() + 1'000'000);
  answer.body = std::make_shared<const local::Json>(std::move(object));
  return answer;
}

kube::WatchEvent::Type TypeOf(local::WatchEvent::Type type) {
  switch (type) {
    case local::WatchEvent::Type::kAdded: return kube::WatchEvent::Type::kAdded;
    case local::WatchEvent::Type::kModified: return kube::WatchEvent::Type::kModified;
    case local::WatchEvent::Type::kDeleted: return kube::WatchEvent::Type::kDeleted;
  }
  return kube::WatchEvent::Type::kModified;
}

}  // namespace

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone: return "none";
    case Fault::kConflict: return "conflict";
    case Fault::kUnavailable: return "unavailable";
    case Fault::kLostAnswer: return "lost-answer";
    case Fault::kSlow: return "slow";
    case Fault::kOvertaken: return "overtaken";
    case Fault::kTooMany: return "too-many";
    case Fault::kServerError: return "server-error";
    case Fault::kTimeoutBefore: return "timeout-before";
    case Fault::kTimeoutAfter: return "timeout-after";
    case Fault::kSwallow: return "swallow";
    case Fault::kDoneThenSwallow: return "done-then-swallow";
    case Fault::kFalseAnswer: return "false-answer";
  }
  return "";
}

// One open watch: a position in the store's window of changes.
class SimTransport::OneWatch {
 public:
  OneWatch(local::Registry& registry, kube::WatchCallbacks callbacks)
      : registry_(registry), callbacks_(std::move(callbacks)) {}

  // Opens the watch of `path`; an error ends it.
  void Open(const std::string& path);
  void Refuse(Status error) { broken_ = std::move(error); }
  bool concerns(const std::string& resource) const {
    return context_.resource != nullptr && context_.resource->storage == resource;
  }
  // True: the caller must post a task that calls Drain.
  bool Wake() { return !over_ && !std::exchange(drain_is_posted_, true); }
  void Drain();
  void Forget() { over_ = true; }
  void End(const Status& status) {
    if (!std::exchange(over_, true)) callbacks_.on_end(status);
  }
  // Goes back by up to `count` remembered events; returns how many.
  std::size_t GoBack(std::size_t count);
  Duration lifetime() const { return lifetime_; }
  bool is_over() const { return over_; }

 private:
  bool Matches(const local::StoredPtr& object) const {
    return object != nullptr && local::MatchesQuery(*object, query_.labels, query_.fields) &&
           (context_.namespace_name.empty() ||
            object->key().namespace_name == context_.namespace_name);
  }
  void SendState();
  void SendChange(const local::StoreEvent& event);
  void Tell(local::WatchEvent::Type type, const local::StoredPtr& object);

  local::Registry& registry_;
  kube::WatchCallbacks callbacks_;
  local::RequestContext context_;
  local::ReadQuery query_;
  local::WatchStart start_;
  std::int64_t position_ = 0;
  std::deque<std::int64_t> positions_;  // before each of the newest events
  Duration lifetime_{};
  std::optional<local::ApiError> refused_;
  Status broken_ = OkStatus();
  bool drain_is_posted_ = false;
  bool over_ = false;
};

void SimTransport::OneWatch::Open(const std::string& path) {
  const auto target = local::ParseTarget(path);
  if (!target) {
    refused_ = local::UnknownPathStatus();
    return;
  }
  auto context = ContextOf(registry_, *target);
  if (!context) {
    refused_ = context.error();
    return;
  }
  context_ = std::move(*context);
  auto query = QueryOf(*target, *context_.resource);
  auto start = local::ReadWatchStart(*target);
  if (!query || !start) {
    refused_ = query ? start.error() : query.error();
    return;
  }
  query_ = std::move(*query);
  start_ = *start;
  position_ = start_.from_now ? registry_.store().cache().revision() : start_.revision;
  const auto seconds = ParseInt64(target->Get("timeoutSeconds"));
  lifetime_ = std::chrono::seconds(seconds ? *seconds : kDefaultLifetimeSeconds);
}

void SimTransport::OneWatch::SendState() {
  const local::WatchCache::Snapshot snapshot =
      registry_.store().cache().List(context_.resource->storage, context_.namespace_name);
  position_ = snapshot.revision;
  for (const local::StoredPtr& object : snapshot.objects) {
    if (!over_ && Matches(object)) Tell(local::WatchEvent::Type::kAdded, object);
  }
}

void SimTransport::OneWatch::Drain() {
  drain_is_posted_ = false;
  if (over_) return;
  if (refused_) return End(ToError(*refused_));
  if (!broken_) return End(broken_);
  if (std::exchange(start_.send_state, false)) SendState();
  while (!over_) {
    const local::WatchCache::Changes changes =
        registry_.store().cache().EventsAfter(context_.resource->storage, position_, kBatch);
    if (changes.state == local::WatchCache::Changes::State::kExpired) {
      return End(
          ToError(local::ExpiredStatus("too old resource version: " + std::to_string(position_))));
    }
    position_ = changes.through;
    for (const local::EventPtr& event : changes.events) {
      if (over_) return;
      positions_.push_back(event->revision - 1);
      if (positions_.size() > kRemembered) positions_.pop_front();
      SendChange(*event);
    }
    if (changes.events.size() < kBatch) return;
  }
}

std::size_t SimTransport::OneWatch::GoBack(std::size_t count) {
  if (over_ || positions_.empty() || count == 0) return 0;
  const std::size_t first = positions_.size() > count ? positions_.size() - count : 0;
  position_ = std::min(position_, positions_[first]);
  const std::size_t repeated = positions_.size() - first;
  positions_.resize(first);
  return repeated;
}

void SimTransport::OneWatch::SendChange(const local::StoreEvent& event) {
  using Type = local::WatchEvent::Type;
  const bool matched = event.type != Type::kAdded && Matches(event.previous);
  const bool matches = event.type != Type::kDeleted && Matches(event.object);
  if (event.type == Type::kDeleted) {
    if (matched || (event.previous == nullptr && Matches(event.object))) {
      Tell(Type::kDeleted, event.object);
    }
  } else if (matches) {
    Tell(matched ? Type::kModified : Type::kAdded, event.object);
  } else if (matched) {
    Tell(Type::kDeleted, event.object);  // left the selection
  }
}

void SimTransport::OneWatch::Tell(local::WatchEvent::Type type, const local::StoredPtr& object) {
  auto shown = registry_.InRequestVersion(context_, object);
  if (!shown) return End(ToError(shown.error()));
  callbacks_.on_event({TypeOf(type), (*shown)->json()});
}

class SimTransport::Handle final : public kube::WatchHandle {
 public:
  Handle(SimTransport& transport, std::weak_ptr<bool> alive, int id)
      : transport_(transport), alive_(std::move(alive)), id_(id) {}
  ~Handle() override {
    if (alive_.expired()) return;
    const auto found = transport_.watches_.find(id_);
    if (found == transport_.watches_.end()) return;
    found->second->Forget();
    transport_.watches_.erase(found);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  SimTransport& transport_;
  const std::weak_ptr<bool> alive_;
  const int id_;
};

SimTransport::SimTransport(local::Registry& registry, Executor& executor,
                           SimTransportOptions options)
    : registry_(registry), executor_(executor), options_(std::move(options)) {
  listener_ = registry_.store().AddListener(
      [this](const std::vector<local::EventPtr>& events) { OnStoreEvents(events); });
}

SimTransport::~SimTransport() {
  registry_.store().RemoveListener(listener_);
  for (auto& [id, watch] : watches_) watch->Forget();
}

void SimTransport::Send(kube::ApiRequest request, Duration timeout,
                        std::function<void(Result<kube::ApiResponse>)> done) {
  const Fault fault = options_.fault ? options_.fault(request) : Fault::kNone;
  // The server continues without its client: the first half works after the transport's end.
  auto task = [this, fault, timeout, request = std::move(request), done = std::move(done),
               &registry = registry_, &executor = executor_, latency = options_.latency,
               slow = options_.slow, alive = std::weak_ptr<bool>(alive_)] {
    kube::ApiResponse response;
    if (Happens(fault)) response = Answer(registry, request);
    if (fault == Fault::kFalseAnswer) response = FalseAnswer(registry, request);
    if (alive.expired()) return;
    if (Happens(fault) && request.method != "GET") ++write_count_;
    if (IsSwallowed(fault)) return;
    Duration wait = fault == Fault::kSlow ? slow : latency;
    if (fault == Fault::kTimeoutBefore || fault == Fault::kTimeoutAfter) wait = timeout;
    executor.PostAfter(wait,
                       [this, request, done, alive, result = Heard(fault, std::move(response))] {
                         if (alive.expired()) return;
                         if (result && options_.on_answer) options_.on_answer(request, *result);
                         done(result);
                       });
  };
  executor_.PostAfter(fault == Fault::kOvertaken ? options_.slow : options_.latency,
                      std::move(task));
}

std::unique_ptr<kube::WatchHandle> SimTransport::Watch(kube::ApiRequest request, Duration silence,
                                                       kube::WatchCallbacks callbacks) {
  const Fault fault = options_.fault ? options_.fault(request) : Fault::kNone;
  auto watch = std::make_shared<OneWatch>(registry_, std::move(callbacks));
  watch->Open(request.path);
  const bool hangs =
      fault == Fault::kTimeoutBefore || fault == Fault::kTimeoutAfter || fault == Fault::kSwallow;
  if (hangs) watch->Refuse(TimedOut());
  if (fault == Fault::kUnavailable || fault == Fault::kTooMany || fault == Fault::kServerError) {
    watch->Refuse(Unavailable());
  }
  const int id = next_watch_++;
  watches_[id] = watch;
  watch->Wake();
  PostDrain(watch, hangs ? silence : options_.latency);
  executor_.PostAfter(watch->lifetime(), [weak = std::weak_ptr<OneWatch>(watch)] {
    if (const auto open = weak.lock()) open->End(OkStatus());
  });
  return std::make_unique<Handle>(*this, alive_, id);
}

void SimTransport::PostDrain(const std::shared_ptr<OneWatch>& watch, Duration wait) {
  executor_.PostAfter(wait, [this, weak = std::weak_ptr<OneWatch>(watch)] {
    const auto open = weak.lock();
    // The end of the stall drains all watches. An open watch means that the transport is alive.
    if (open != nullptr && !open->is_over() && stalls_ == 0) open->Drain();
  });
}

void SimTransport::EndWatches(const Status& status) {
  for (const auto& [id, watch] : watches_) {
    executor_.Post([status, weak = std::weak_ptr<OneWatch>(watch)] {
      if (const auto open = weak.lock()) open->End(status);
    });
  }
}

void SimTransport::BreakWatches() { EndWatches(Unavailable()); }

void SimTransport::ExpireWatches() {
  EndWatches(ToError(local::ExpiredStatus("too old resource version")));
}

void SimTransport::StallWatches(Duration span) {
  ++stalls_;
  executor_.PostAfter(span, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired() || --stalls_ > 0) return;
    for (const auto& [id, watch] : watches_) {
      watch->Wake();
      PostDrain(watch, options_.latency);
    }
  });
}

std::size_t SimTransport::RepeatEvents(std::size_t count) {
  std::size_t repeated = 0;
  for (const auto& [id, watch] : watches_) {
    repeated += watch->GoBack(count);
    if (watch->Wake()) PostDrain(watch, options_.latency);
  }
  return repeated;
}

void SimTransport::OnStoreEvents(const std::vector<local::EventPtr>& events) {
  for (const auto& [id, watch] : watches_) {
    bool concerned = false;
    for (const local::EventPtr& event : events) {
      concerned = concerned || watch->concerns(event->object->key().resource);
    }
    if (concerned && watch->Wake()) PostDrain(watch, options_.latency);
  }
}

}  // namespace berth::sim
