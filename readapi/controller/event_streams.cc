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

std::string EventStreams::Resync() const {
  return "event: resync\nid: " + EncodeFeedCursor(feed_.cursor()) + "\ndata: {}\n\n";
}

void EventStreams::Add(std::shared_ptr<net::Stream> stream, Sights sights,
                       const std::optional<FeedCursor>& after) {
  Client client{.stream = std::move(stream),
                .sights = std::move(sights),
                .position = feed_.revision(),
                .end = clock_.SteadyNow() + options_.longest_life};
  std::string text = "retry: 2000\n";
  if (!after) {
    text += "id: " + EncodeFeedCursor(feed_.cursor()) + "\n\n";
  } else if (feed_.Continues(*after)) {
    client.position = after->revision;
    text += "id: " + EncodeFeedCursor(*after) + "\n\n";
  } else {
    text += "\n" + Resync();
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

// Whether the client stays.
bool EventStreams::Serve(Client& client) {
  if (client.stream->Backlog() > options_.max_backlog_bytes) return true;
  Feed::Batch batch = feed_.Read(client.position, client.sights, options_.max_batch_bytes);
  client.position = batch.position;
  if (batch.outcome == Feed::Outcome::kResync) batch.text = Resync();
  return batch.text.empty() || client.stream->Write(std::move(batch.text));
}

void EventStreams::Tick() {
  tick_posted_ = false;
  std::erase_if(clients_, [this](Client& client) { return !Serve(client); });
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
