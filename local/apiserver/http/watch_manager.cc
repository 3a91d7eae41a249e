#include "local/apiserver/http/watch_manager.h"

#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/threads/guarded.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::size_t kChunkBytes = 64 * 1024;
// Backlog limit of one watch: a slow reader is sent no more than it reads.
constexpr std::size_t kPauseBytes = 256 * 1024;
constexpr std::size_t kGoOnBytes = 64 * 1024;
constexpr std::size_t kConversionThreads = 4;
constexpr std::size_t kMostWaiting = 65'536;
constexpr std::chrono::seconds kBookmarkEvery{60};
constexpr std::chrono::milliseconds kTick{250};

using SteadyInstant = std::chrono::steady_clock::time_point;

const char* TypeName(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kAdded: return "ADDED";
    case WatchEvent::Type::kModified: return "MODIFIED";
    case WatchEvent::Type::kDeleted: return "DELETED";
  }
  return "ERROR";
}

}  // namespace

class WatchManager::Session {
 public:
  Session(Registry& registry, WatchRequest request, std::shared_ptr<net::Stream> stream,
          WorkerPool& pumps, RequestMetrics::WatchSeries& sent)
      : pumps_(pumps),
        registry_(registry),
        sent_(sent),
        request_(std::move(request)),
        stream_(std::move(stream)),
        position_(request_.from_revision),
        ends_(std::chrono::steady_clock::now() + request_.timeout),
        next_bookmark_((std::chrono::steady_clock::now() + kBookmarkEvery).time_since_epoch()) {}

  const std::string& resource() const { return request_.context.resource->storage; }

  WorkerPool& pumps() const { return pumps_; }
  // `go_on` is called after a pause, when the peer has read its backlog.
  void SetGoOn(std::function<void()> go_on) { go_on_ = std::move(go_on); }

  // True: the caller must run Pump; false: a running Pump will see the change.
  bool Claim() { return wanted_.fetch_add(1) == 0; }
  // Sends pending events. Returns when no Claim is open.
  void Pump();
  void MarkTick() { tick_.store(true); }
  bool WantsTick(SteadyInstant now) const {
    return now >= ends_ || now.time_since_epoch() >= next_bookmark_.load();
  }
  bool is_over() const { return over_.load(); }
  void End() {
    over_.store(true);
    stream_->Close();
  }

 private:
  // Called by the pump: sends the written lines first.
  void Finish() {
    Flush();
    End();
  }
  void PumpOnce();
  void BeginState();
  void SendState();
  // True: the peer must read first; the pump runs again afterwards.
  bool IsPaused();
  void SendChanges();
  void SendEvent(const StoreEvent& event);
  void SendBookmark(bool end_of_state);
  void SendError(const ApiError& error);
  void Expire(std::int64_t revision);
  void HandleTick();
  // Joins lines to chunks.
  void Write(std::string_view line) {
    sent_.Count(line.size());
    chunk_ += line;
    if (chunk_.size() >= kChunkBytes) Flush();
  }
  void Flush() {
    if (chunk_.empty()) return;
    std::string chunk = std::exchange(chunk_, {});
    if (!over_.load() && !stream_->Write(std::move(chunk))) over_.store(true);
  }
  void SendObject(const char* type, const StoredPtr& object);
  bool InNamespace(const StoredObject& object) const {
    const std::string& wanted = request_.context.namespace_name;
    return wanted.empty() || object.key().namespace_name == wanted;
  }
  bool Matches(const StoredPtr& object) const {
    return object != nullptr && MatchesQuery(*object, request_.query.labels, request_.query.fields);
  }

  WorkerPool& pumps_;
  Registry& registry_;
  RequestMetrics::WatchSeries& sent_;
  WatchRequest request_;
  std::function<void()> go_on_;
  WatchCache::Snapshot state_;  // the initial state, sent up to state_sent_
  std::size_t state_sent_ = 0;
  const std::shared_ptr<net::Stream> stream_;
  std::string chunk_;
  std::int64_t position_;
  const SteadyInstant ends_;
  std::atomic<SteadyInstant::duration> next_bookmark_;
  std::atomic<int> wanted_{0};
  std::atomic<bool> tick_{false};
  std::atomic<bool> over_{false};
};

void WatchManager::Session::Pump() {
  int handled = wanted_.load();
  while (true) {
    if (!over_.load()) PumpOnce();
    // Claims made meanwhile need another round.
    if (wanted_.fetch_sub(handled) == handled) return;
    handled = wanted_.load();
  }
}

void WatchManager::Session::PumpOnce() {
  if (std::exchange(request_.send_state, false)) BeginState();
  if (state_sent_ < state_.objects.size()) SendState();
  // Bookmarks and the end come after the initial state.
  if (state_sent_ < state_.objects.size()) return;
  SendChanges();
  if (tick_.exchange(false)) HandleTick();
  Flush();
}

bool WatchManager::Session::IsPaused() {
  if (stream_->Backlog() + chunk_.size() < kPauseBytes) return false;
  Flush();
  if (stream_->Backlog() <= kGoOnBytes) return false;
  stream_->WhenBelow(kGoOnBytes, go_on_);
  return true;
}

void WatchManager::Session::BeginState() {
  state_ = registry_.store().cache().List(resource(), request_.context.namespace_name);
  position_ = state_.revision;
  state_sent_ = 0;
  if (state_.objects.empty() && request_.end_of_state_bookmark) SendBookmark(true);
}

void WatchManager::Session::SendState() {
  while (state_sent_ < state_.objects.size()) {
    if (over_.load() || IsPaused()) return;
    const StoredPtr object = std::move(state_.objects[state_sent_++]);
    if (Matches(object)) SendObject("ADDED", object);
  }
  state_ = {};
  state_sent_ = 0;
  if (request_.end_of_state_bookmark) SendBookmark(true);
}

void WatchManager::Session::SendChanges() {
  while (!over_.load()) {
    const WatchCache::Changes changes =
        registry_.store().cache().EventsAfter(resource(), position_, kBatch);
    if (changes.state == WatchCache::Changes::State::kExpired) {
      return Expire(position_);
    }
    for (const EventPtr& event : changes.events) {
      if (over_.load() || IsPaused()) return;
      if (InNamespace(*event->object)) SendEvent(*event);
      position_ = event->revision;
    }
    position_ = changes.through;
    if (changes.events.size() < kBatch) return;
  }
}

void WatchManager::Session::Expire(std::int64_t revision) {
  SendError(ExpiredStatus("too old resource version: " + std::to_string(revision) + " (" +
                          std::to_string(registry_.store().cache().revision()) + ")"));
  Finish();
}

void WatchManager::Session::SendEvent(const StoreEvent& event) {
  using Type = WatchEvent::Type;
  if (request_.query.labels.empty() && request_.query.fields.empty()) {
    SendObject(TypeName(event.type), event.object);
    return;
  }
  if (event.type == Type::kModified &&
      (event.previous == nullptr || event.previous->json() == nullptr)) {
    // Without the previous state it is unknown whether the object has left the selection.
    return Expire(event.revision);
  }
  const bool matched = event.type != Type::kAdded && Matches(event.previous);
  const bool matches = event.type != Type::kDeleted && Matches(event.object);
  if (event.type == Type::kDeleted) {
    // If the previous state is unknown, the last state decides.
    if (matched || (event.previous == nullptr && Matches(event.object))) {
      SendObject("DELETED", event.object);
    }
    return;
  }
  if (matches) {
    SendObject(matched ? "MODIFIED" : "ADDED", event.object);
    return;
  }
  if (!matched) return;
  // The object left the selection: DELETED, the previous state, the revision of the change.
  SendObject("DELETED", std::make_shared<const StoredObject>(
                            event.object->key(), event.revision,
                            StoredObject::MakeDraft(*event.previous->json())));
}

void WatchManager::Session::SendObject(const char* type, const StoredPtr& object) {
  auto shown = registry_.InRequestVersion(request_.context, object);
  if (!shown) {
    SendError(shown.error());
    Finish();
    return;
  }
  std::string line = R"({"type":")";
  line += type;
  line += R"(","object":)";
  line += RenderObject(*request_.context.resource, *shown, request_.render);
  line += "}\n";
  request_.render.with_columns = false;  // a Table has columns in its first event only
  Write(line);
}

void WatchManager::Session::SendBookmark(bool end_of_state) {
  const ResourceInfo& resource = *request_.context.resource;
  const bool partial = request_.render.form.form == Form::kPartialMetadata;
  Json metadata{{"resourceVersion", std::to_string(position_)}};
  if (end_of_state) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  const Json bookmark{
      {"type", "BOOKMARK"},
      {"object",
       {{"kind", partial ? "PartialObjectMetadata" : resource.kind},
        {"apiVersion", partial ? request_.render.form.api_version : resource.api_version()},
        {"metadata", std::move(metadata)}}}};
  Write(EncodeObject(bookmark) + "\n");
}

void WatchManager::Session::SendError(const ApiError& error) {
  Write(EncodeObject({{"type", "ERROR"}, {"object", StatusOf(error)}}) + "\n");
}

void WatchManager::Session::HandleTick() {
  if (over_.load()) return;
  const SteadyInstant now = std::chrono::steady_clock::now();
  if (request_.bookmarks) SendBookmark(false);
  next_bookmark_ = (now + kBookmarkEvery).time_since_epoch();
  if (now >= ends_) Finish();
}

WatchManager::WatchManager(Registry& registry, RequestMetrics& metrics)
    : registry_(registry),
      metrics_(metrics),
      pumps_({.threads = 4, .running = 4, .waiting = kMostWaiting}) {
  // The changes stay in the cache of the store: a watch that is not told sends them with the next.
  listener_ = registry_.store().AddListener([this](const std::vector<EventPtr>& events) {
    RunGuarded("telling the watches of changes failed", [&] { OnEvents(events); });
  });
  timer_ = StartThread("the timer of watches failed", [this] { RunTimer(); });
}

WatchManager::~WatchManager() { Stop(); }

void WatchManager::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  registry_.store().RemoveListener(listener_);
  timer_wake_.notify_all();
  timer_.join();
  for (const SessionPtr& session : Collect()) session->End();
  pumps_.Stop();
  for (const auto& [resource, pool] : converting_) pool->Stop();
  const std::lock_guard lock(mutex_);
  sessions_.clear();
}

std::size_t WatchManager::count() const { return Collect().size(); }

std::vector<WatchManager::SessionPtr> WatchManager::Collect() const {
  const std::lock_guard lock(mutex_);
  std::vector<SessionPtr> all;
  for (const auto& [resource, sessions] : sessions_) {
    for (const auto& [id, session] : sessions) all.push_back(session);
  }
  return all;
}

void WatchManager::Start(WatchRequest request, std::shared_ptr<net::Stream> stream) {
  const ResourceInfo& kind = *request.context.resource;
  SessionPtr session;
  int id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      stream->Close();
      return;
    }
    session = std::make_shared<Session>(registry_, std::move(request), stream, PumpsOfLocked(kind),
                                        metrics_.WatchesOf(kind.id));
    id = next_id_++;
    sessions_[session->resource()][id] = session;
  }
  // The stream outlives the callback, and the manager outlives the stream's I/O threads.
  session->SetGoOn([this, weak = std::weak_ptr<Session>(session)] {
    if (const auto slow = weak.lock()) Schedule(slow);
  });
  const std::string resource = session->resource();
  // The stream may outlive the manager; Stop closes it, and Close triggers this callback.
  stream->OnGone([this, id, weak = std::weak_ptr<Session>(session)] {
    if (const auto gone = weak.lock()) {
      gone->End();
      Forget(id);
    }
  });
  Schedule(session);
}

// Conversion may wait for its webhook: a dead webhook stops only the watches of its own kind.
WorkerPool& WatchManager::PumpsOfLocked(const ResourceInfo& resource) {
  if (resource.crd == nullptr || !resource.crd->conversion.webhook) return pumps_;
  std::unique_ptr<WorkerPool>& pool = converting_[resource.storage];
  if (pool == nullptr) {
    pool = std::make_unique<WorkerPool>(
        WorkerPool::Limits{kConversionThreads, kConversionThreads, kMostWaiting});
  }
  return *pool;
}

void WatchManager::Forget(int id) {
  SessionPtr last;  // destroyed outside the lock
  const std::lock_guard lock(mutex_);
  for (auto& [resource, sessions] : sessions_) {
    const auto it = sessions.find(id);
    if (it == sessions.end()) continue;
    last = it->second;
    sessions.erase(it);
    return;
  }
}

void WatchManager::Schedule(const SessionPtr& session) {
  if (session->is_over() || !session->Claim()) return;
  // The client of a watch that fails has missed events: it has to begin anew.
  const auto pump = [session] {
    if (!RunGuarded("a watch failed", [&] { session->Pump(); })) session->End();
  };
  bool is_posted = false;
  RunGuarded("a watch failed", [&] { is_posted = session->pumps().Post(pump); });
  if (!is_posted) session->End();
}

void WatchManager::OnEvents(const std::vector<EventPtr>& events) {
  std::vector<SessionPtr> concerned;
  {
    const std::lock_guard lock(mutex_);
    std::string last;
    for (const EventPtr& event : events) {
      const std::string& resource = event->object->key().resource;
      if (resource == last) continue;
      last = resource;
      const auto it = sessions_.find(resource);
      if (it == sessions_.end()) continue;
      for (const auto& [id, session] : it->second) concerned.push_back(session);
    }
  }
  for (const SessionPtr& session : concerned) Schedule(session);
}

void WatchManager::RunTimer() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    timer_wake_.wait_for(lock, kTick, [this] { return stopping_; });
    if (stopping_) return;
    lock.unlock();
    RunGuarded("a tick of the watches failed", [this] { Tick(); });
    lock.lock();
  }
}

void WatchManager::Tick() {
  const SteadyInstant now = std::chrono::steady_clock::now();
  std::vector<SessionPtr> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [resource, sessions] : sessions_) {
      for (const auto& [id, session] : sessions) {
        if (session->WantsTick(now)) due.push_back(session);
      }
    }
  }
  for (const SessionPtr& session : due) {
    session->MarkTick();
    Schedule(session);
  }
}

}  // namespace berth::local
