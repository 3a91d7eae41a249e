// readapi/controller/event_streams.h — the clients of the event stream: positions in the change
// feed, served in ticks.
//
//     Changed ─▶ tick (100 ms later) ─▶ per client: Feed::Read from its position ─▶ Stream::Write
//
// Clients with the same sights and position share one reading of the feed. A client that does not
// read is passed over while max_backlog_bytes wait for it, and its connection is cut by the server
// where nothing moves for ServerOptions::write_timeout. A client that has fallen out of the ring
// gets the event "resync". The stream of a client without a position begins with the event "start".
// A stream ends after longest_life: the client connects again with its position, and its rights are
// reviewed again.
//
// Threads: the executor's. Errors: Add refuses above most_clients.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "net/server.h"
#include "readapi/feed.h"

namespace berth::readapi {

class EventStreams {
 public:
  struct Options {
    Duration tick = std::chrono::milliseconds(100);
    Duration heartbeat = std::chrono::seconds(15);
    Duration longest_life = std::chrono::minutes(5);
    std::size_t most_clients = 512;
    std::size_t max_backlog_bytes = 256 * 1024;
    std::size_t max_batch_bytes = 256 * 1024;  // the limit for one client and tick
  };

  EventStreams(Executor& executor, const Clock& clock, const Feed& feed, Options options);
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  bool is_full() const { return clients_.size() >= options_.most_clients; }
  // Serves changes behind `after`; nullopt: from now on. The response has begun.
  void Add(std::shared_ptr<net::Stream> stream, Sights sights,
           const std::optional<FeedCursor>& after);
  // The feed has a new change.
  void Changed();
  std::size_t client_count() const { return clients_.size(); }

 private:
  // The sights of a client; clients with equal sights share one object.
  using SharedSights = std::shared_ptr<const Sights>;
  struct Client {
    std::shared_ptr<net::Stream> stream;
    SharedSights sights;
    std::uint64_t position = 0;
    SteadyTime end;
  };

  // The batches of one tick.
  using Batches = std::map<std::pair<const Sights*, std::uint64_t>, Feed::Batch>;

  void Tick();
  void Beat();
  bool Serve(Client& client, Batches& batches) const;
  SharedSights Share(Sights sights) const;
  void PostAfter(Duration delay, void (EventStreams::*step)());
  // An event without data, at the end of the feed.
  std::string AtEnd(const char* event) const;

  Executor& executor_;
  const Clock& clock_;
  const Feed& feed_;
  const Options options_;
  std::vector<Client> clients_;
  bool tick_posted_ = false;
  bool beat_posted_ = false;
  std::shared_ptr<EventStreams*> self_ = std::make_shared<EventStreams*>(this);
};

}  // namespace berth::readapi
