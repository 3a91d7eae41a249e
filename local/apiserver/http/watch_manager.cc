#include "local/apiserver/http/watch_manager.h"

#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>

#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::size_t kChunkBytes = 64 * 1024;
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
  Session(Registry& registry, WatchRequest request, std::shared_ptr<net::Stream> stream)
      : registry_(registry),
        request_(std::move(request)),
        stream_(std::move(stream)),
        position_(request_.from_revision),
        ends_(std::chrono::steady_clock::now() + request_.timeout),
        next_bookmark_((std::chrono::steady_clock::now() + kBookmarkEvery).time_since_epoch()) {}

  const std::string& resource() const { return request_.context.resource->storage; }

  // True: the caller must run Pump; false: a running one sees what there is.
  bool Claim() { return wanted_.fetch_add(1) == 0; }
  // Sends what there is. Returns when nothing more is wanted.
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
  // For the pump: what has been written goes out first.
  void Finish() {
    Flush();
    End();
  }
  void PumpOnce();
  void SendState();
  void SendChanges();
  void SendEvent(const StoreEvent& event);
  void SendBookmark(bool end_of_state);
  void SendError(const ApiError& error);
  void HandleTick();
  // Lines are sent together, a chunk at a time.
  void Write(std::string_view line) {
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

  Registry& registry_;
  WatchRequest request_;
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
    // What was wanted meanwhile is done in another round.
    if (wanted_.fetch_sub(handled) == handled) return;
    handled = wanted_.load();
  }
}

void WatchManager::Session::PumpOnce() {
  if (std::exchange(request_.send_state, false)) SendState();
  SendChanges();
  if (tick_.exchange(false)) HandleTick();
  Flush();
}

void WatchManager::Session::SendState() {
  const WatchCache::Snapshot snapshot =
      registry_.store().cache().List(resource(), request_.context.namespace_name);
  for (const StoredPtr& object : snapshot.objects) {
    if (over_.load()) return;
    if (Matches(object)) SendObject("ADDED", object);
  }
  position_ = snapshot.revision;
  if (request_.end_of_state_bookmark) SendBookmark(true);
}

void WatchManager::Session::SendChanges() {
  while (!over_.load()) {
    const WatchCache::Changes changes =
        registry_.store().cache().EventsAfter(resource(), position_, kBatch);
    if (changes.state == WatchCache::Changes::State::kExpired) {
      SendError(ExpiredStatus("too old resource version: " + std::to_string(position_) + " (" +
                              std::to_string(registry_.store().cache().revision()) + ")"));
      Finish();
      return;
    }
    for (const EventPtr& event : changes.events) {
      if (over_.load()) return;
      if (InNamespace(*event->object)) SendEvent(*event);
    }
    position_ = changes.through;
    if (changes.events.size() < kBatch) return;
  }
}

void WatchManager::Session::SendEvent(const StoreEvent& event) {
  using Type = WatchEvent::Type;
  if (request_.query.labels.empty() && request_.query.fields.empty()) {
    SendObject(TypeName(event.type), event.object);
    return;
  }
  const bool matched = event.type != Type::kAdded && Matches(event.previous);
  const bool matches = event.type != Type::kDeleted && Matches(event.object);
  if (event.type == Type::kDeleted) {
    // Where the state before is no longer known, the last one tells.
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
  // It has left the selection: gone, as it was, with the revision of the change.
  const Object before = event.previous->json();
  if (before == nullptr) return;
  SendObject("DELETED", std::make_shared<const StoredObject>(event.object->key(), event.revision,
                                                             StoredObject::MakeDraft(*before)));
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
  request_.render.with_columns = false;  // of a Table: in the first event only
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
  Write(bookmark.dump() + "\n");
}

void WatchManager::Session::SendError(const ApiError& error) {
  Write(Json{{"type", "ERROR"}, {"object", StatusOf(error)}}.dump() + "\n");
}

void WatchManager::Session::HandleTick() {
  if (over_.load()) return;
  const SteadyInstant now = std::chrono::steady_clock::now();
  if (request_.bookmarks) SendBookmark(false);
  next_bookmark_ = (now + kBookmarkEvery).time_since_epoch();
  if (now >= ends_) Finish();
}

WatchManager::WatchManager(Registry& registry)
    : registry_(registry), pumps_({.threads = 4, .running = 4, .waiting = 65'536}) {
  listener_ = registry_.store().AddListener(
      [this](const std::vector<EventPtr>& events) { OnEvents(events); });
  timer_ = std::thread([this] { RunTimer(); });
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
  auto session = std::make_shared<Session>(registry_, std::move(request), stream);
  int id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      stream->Close();
      return;
    }
    id = next_id_++;
    sessions_[session->resource()][id] = session;
  }
  const std::string resource = session->resource();
  // The stream may outlive the manager; Stop closes it, and Close calls this back.
  stream->OnGone([this, id, weak = std::weak_ptr<Session>(session)] {
    if (const auto gone = weak.lock()) {
      gone->End();
      Forget(id);
    }
  });
  Schedule(session);
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
  if (!pumps_.Post([session] { session->Pump(); })) session->End();
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
    const SteadyInstant now = std::chrono::steady_clock::now();
    std::vector<SessionPtr> due;
    for (const auto& [resource, sessions] : sessions_) {
      for (const auto& [id, session] : sessions) {
        if (session->WantsTick(now)) due.push_back(session);
      }
    }
    lock.unlock();
    for (const SessionPtr& session : due) {
      session->MarkTick();
      Schedule(session);
    }
    lock.lock();
  }
}

}  // namespace berth::local
