#include "tests/bench/endtoend/observer.h"

#include "tests/bench/support/load.h"

namespace berth::bench {
namespace {

constexpr std::chrono::seconds kPatience{120};

}  // namespace

Observer::Observer(Cluster& cluster, const std::string& path, Reached reached)
    : reached_(std::move(reached)) {
  const Json list = cluster.Get(path + "?limit=1");
  const std::string revision = list["metadata"]["resourceVersion"];
  net::StreamCallbacks callbacks;
  callbacks.on_head = [this](int status, const net::Headers&) {
    if (status != 200) GiveUp("the watch was refused: " + std::to_string(status));
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  };
  callbacks.on_data = [this](std::string_view bytes) { OnData(bytes); };
  callbacks.on_end = [](const Status&) { GiveUp("the watch has ended"); };
  handle_ = cluster.client().Open(
      JsonRequest("GET", path + "?watch=true&resourceVersion=" + revision), kPatience, callbacks);
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [this] { return open_; })) GiveUp("no watch");
}

void Observer::OnData(std::string_view bytes) {
  const Instant now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  rest_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json event = Json::parse(std::string_view(rest_).substr(begin, end - begin));
    if (event["type"] == "DELETED" || event["type"] == "BOOKMARK") continue;
    const auto name = reached_(event["object"]);
    if (!name || !seen_.emplace(*name, now).second) continue;
    last_ = now;
    changed_.notify_all();
  }
  rest_.erase(0, begin);
}

Instant Observer::TimeOf(const std::string& name) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return seen_.contains(name); })) {
    GiveUp(name + " was not seen in time");
  }
  return seen_[name];
}

Instant Observer::WaitFor(std::size_t count) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return seen_.size() >= count; })) {
    GiveUp(std::to_string(seen_.size()) + " of " + std::to_string(count) + " were seen in time");
  }
  return last_;
}

std::size_t Observer::count() {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

}  // namespace berth::bench
