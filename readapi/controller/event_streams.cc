#include "readapi/controller/event_streams.h"

#include <algorithm>
#include <utility>

namespace berth::readapi {

EventStreams::EventStreams(Executor& executor, const Clock& clock, const Feed& feed,
                           Options options)
    : executor_(executor), clock_(clock), feed_(feed), options_(options) {}

void EventStreams::PostAfter(Duration delay, void (EventStreams::*step)()) {
  executor_.PostAfter(delay, [weak = std::weak_ptr(self_), step] {
    if (const auto self = weak.lock()) ((*self)->*step)();
  });
}

std::string EventStreams::AtEnd(const char* event) const {
  return std::string("event: ") + event + "\nid: " + EncodeFeedCursor(feed_.cursor()) +
         "\ndata: {}\n\n";
}

EventStreams::SharedSights EventStreams::Share(Sights sights) const {
  const auto same = [](const auto& a, const auto& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
  };
  for (const Client& client : clients_) {
    if (std::ranges::equal(*client.sights, sights, same)) return client.sights;
  }
  return std::make_shared<const Sights>(std::move(sights));
}

void EventStreams::Add(std::shared_ptr<net::Stream> stream, Sights sights,
                       const std::optional<FeedCursor>& after) {
  Client client{.stream = std::move(stream),
                .sights = Share(std::move(sights)),
                .position = feed_.revision(),
                .end = clock_.SteadyNow() + options_.longest_life};
  std::string text = "retry: 2000\n";
  if (!after) {
    text += AtEnd("start");
  } else if (feed_.Continues(*after)) {
    client.position = after->revision;
    text += "id: " + EncodeFeedCursor(*after) + "\n\n";
  } else {
    text += AtEnd("resync");
  }
  if (!client.stream->Write(std::move(text))) return;
  clients_.push_back(std::move(client));
  Changed();
  if (!std::exchange(beat_posted_, true)) PostAfter(options_.heartbeat, &EventStreams::Beat);
}

void EventStreams::Changed() {
  if (clients_.empty() || std::exchange(tick_posted_, true)) return;
  PostAfter(options_.tick, &EventStreams::Tick);
}

// Whether the client stays. The text of a batch is made once for all that are at its place.
bool EventStreams::Serve(Client& client, Batches& batches) const {
  if (client.stream->Backlog() > options_.max_backlog_bytes) return true;
  const auto [found, is_new] = batches.try_emplace({client.sights.get(), client.position});
  Feed::Batch& batch = found->second;
  if (is_new) {
    batch = feed_.Read(client.position, *client.sights, options_.max_batch_bytes);
    if (batch.outcome == Feed::Outcome::kResync) batch.text = AtEnd("resync");
  }
  client.position = batch.position;
  return batch.text.empty() || client.stream->Write(batch.text);
}

void EventStreams::Tick() {
  tick_posted_ = false;
  Batches batches;
  std::erase_if(clients_, [&](Client& client) { return !Serve(client, batches); });
  const bool is_behind =
      std::any_of(clients_.begin(), clients_.end(),
                  [this](const Client& client) { return client.position < feed_.revision(); });
  if (is_behind) Changed();
}

// An id without data moves the position that a client resumes from, and is no event.
void EventStreams::Beat() {
  const SteadyTime now = clock_.SteadyNow();
  std::erase_if(clients_, [&](Client& client) {
    if (now >= client.end) {
      client.stream->Close();
      return true;
    }
    return !client.stream->Write("id: " + EncodeFeedCursor({feed_.epoch(), client.position}) +
                                 "\n\n");
  });
  beat_posted_ = !clients_.empty();
  if (beat_posted_) PostAfter(options_.heartbeat, &EventStreams::Beat);
}

}  // namespace berth::readapi
