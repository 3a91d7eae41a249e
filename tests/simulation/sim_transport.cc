#include "tests/simulation/sim_transport.h"

#include <utility>

#include "base/strings.h"
#include "kube/client/status_error.h"
#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/registry/errors.h"
#include "tests/simulation/sim_request.h"

namespace berth::sim {
namespace {

constexpr std::size_t kBatch = 256;  // events of one task
constexpr std::int64_t kDefaultLifetimeSeconds = 1800;

Error ToError(const local::ApiError& error) {
  const local::Json status = local::StatusOf(error);
  return kube::ErrorFromStatus(error.code, &status);
}

Error Unavailable() { return {ErrorCode::kUnavailable, "the connection broke"}; }

kube::WatchEvent::Type TypeOf(local::WatchEvent::Type type) {
  switch (type) {
    case local::WatchEvent::Type::kAdded: return kube::WatchEvent::Type::kAdded;
    case local::WatchEvent::Type::kModified: return kube::WatchEvent::Type::kModified;
    case local::WatchEvent::Type::kDeleted: return kube::WatchEvent::Type::kDeleted;
  }
  return kube::WatchEvent::Type::kModified;
}

}  // namespace

// One open watch: a position in the store's window of changes.
class SimTransport::OneWatch {
 public:
  OneWatch(local::Registry& registry, kube::WatchCallbacks callbacks)
      : registry_(registry), callbacks_(std::move(callbacks)) {}

  // What `path` asks for; on an error the watch ends with it.
  void Open(const std::string& path);
  bool concerns(const std::string& resource) const {
    return context_.resource != nullptr && context_.resource->storage == resource;
  }
  // True: a task has to be posted that calls Drain.
  bool Wake() { return !over_ && !std::exchange(drain_is_posted_, true); }
  void Drain();
  void Forget() { over_ = true; }
  void End(const Status& status) {
    if (!std::exchange(over_, true)) callbacks_.on_end(status);
  }
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
  Duration lifetime_{};
  std::optional<local::ApiError> refused_;
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
      SendChange(*event);
    }
    if (changes.events.size() < kBatch) return;
  }
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
    Tell(Type::kDeleted, event.object);  // it has left the selection
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

void SimTransport::Send(kube::ApiRequest request, Duration /*timeout*/,
                        std::function<void(Result<kube::ApiResponse>)> done) {
  const Fault fault = options_.fault ? options_.fault(request) : Fault::kNone;
  auto task = [this, fault, request = std::move(request), done = std::move(done),
               alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    Result<kube::ApiResponse> result = Error{Unavailable()};
    if (fault == Fault::kConflict) {
      result = ErrorResponse({409, "Conflict", "the object has been modified", local::Json()});
    } else if (fault != Fault::kUnavailable) {
      if (request.method != "GET") ++write_count_;
      result = Answer(registry_, request);
      if (fault == Fault::kLostAnswer) result = Error{Unavailable()};
    }
    executor_.PostAfter(fault == Fault::kSlow ? options_.slow : options_.latency,
                        [done, result = std::move(result), alive] {
                          if (!alive.expired()) done(result);
                        });
  };
  executor_.PostAfter(options_.latency, std::move(task));
}

std::unique_ptr<kube::WatchHandle> SimTransport::Watch(kube::ApiRequest request,
                                                       Duration /*silence*/,
                                                       kube::WatchCallbacks callbacks) {
  auto watch = std::make_shared<OneWatch>(registry_, std::move(callbacks));
  watch->Open(request.path);
  const int id = next_watch_++;
  watches_[id] = watch;
  const std::weak_ptr<OneWatch> weak = watch;
  watch->Wake();
  executor_.PostAfter(options_.latency, [weak] {
    if (const auto open = weak.lock()) open->Drain();
  });
  executor_.PostAfter(watch->lifetime(), [weak] {
    if (const auto open = weak.lock()) open->End(OkStatus());
  });
  return std::make_unique<Handle>(*this, alive_, id);
}

void SimTransport::BreakWatches() {
  for (const auto& [id, watch] : watches_) {
    executor_.Post([weak = std::weak_ptr<OneWatch>(watch)] {
      if (const auto open = weak.lock()) open->End(Unavailable());
    });
  }
}

void SimTransport::OnStoreEvents(const std::vector<local::EventPtr>& events) {
  for (const auto& [id, watch] : watches_) {
    bool concerned = false;
    for (const local::EventPtr& event : events) {
      concerned = concerned || watch->concerns(event->object->key().resource);
    }
    if (!concerned || !watch->Wake()) continue;
    executor_.PostAfter(options_.latency, [weak = std::weak_ptr<OneWatch>(watch)] {
      if (const auto open = weak.lock()) open->Drain();
    });
  }
}

}  // namespace berth::sim
