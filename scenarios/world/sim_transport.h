// scenarios/world/sim_transport.h — a kube::Transport that reaches the embedded registry by
// function calls in virtual time.
//
//     ApiClient ─Send─▶ latency ─▶ Registry ─▶ latency ─▶ done
//     Reflector ─Watch▶ position in the store's window ─▶ on_event, one task a batch
//
// HTTP, TLS and text are left out; paths, parameters, defaulting, webhooks, validation, conversion
// and managedFields are real.
//
// Threads: one. The registry and the executor must outlive it; requests under way at its
// destruction still happen, as on a real network, without an answer.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/executor.h"
#include "kube/client/transport.h"
#include "local/apiserver/registry/registry.h"

namespace berth::sim {

// The fault of one request.
enum class Fault {
  kNone,
  kConflict,     // 409, nothing written
  kUnavailable,  // no answer; the request did not happen
  kLostAnswer,   // the request happened, but the answer is lost
  kSlow,         // the request happened; answered after `slow`
  // Happens after `slow`, when later requests have overtaken it.
  kOvertaken,
  kTooMany,          // 429, try again in a second; did not happen
  kServerError,      // 500, did not happen
  kTimeoutBefore,    // did not happen; no answer until the client's timeout
  kTimeoutAfter,     // happened; no answer until the client's timeout
  kSwallow,          // did not happen, never answered: for a client that has just died
  kDoneThenSwallow,  // happened, never answered
  kFalseAnswer,      // a false success: nothing was written
};

// The name in reports: "lost-answer".
const char* FaultName(Fault fault);

struct SimTransportOptions {
  Duration latency = std::chrono::milliseconds(1);  // each way
  Duration slow = std::chrono::seconds(5);
  // Called for every request, and for the opening of every watch. Null: no faults.
  std::function<Fault(const kube::ApiRequest& request)> fault;
  // Called with every answer, before the client's callback.
  std::function<void(const kube::ApiRequest& request, const kube::ApiResponse& response)> on_answer;
};

class SimTransport final : public kube::Transport {
 public:
  SimTransport(local::Registry& registry, Executor& executor, SimTransportOptions options);
  ~SimTransport() override;
  SimTransport(const SimTransport&) = delete;
  SimTransport& operator=(const SimTransport&) = delete;

  void Send(kube::ApiRequest request, Duration timeout,
            std::function<void(Result<kube::ApiResponse>)> done) override;
  std::unique_ptr<kube::WatchHandle> Watch(kube::ApiRequest request, Duration silence,
                                           kube::WatchCallbacks callbacks) override;

  // Ends every open watch as a lost connection does.
  void BreakWatches();
  // Ends every open watch with 410: only the next list shows later changes.
  void ExpireWatches();
  // Delivers no event for `span`, then all waiting events.
  void StallWatches(Duration span);
  // Repeats the newest `count` events of every open watch. Returns their number.
  std::size_t RepeatEvents(std::size_t count);
  // Ends every open watch, regularly or with an error.
  void EndWatches(const Status& status);
  void set_latency(Duration latency) { options_.latency = latency; }
  std::size_t watch_count() const { return watches_.size(); }
  std::uint64_t write_count() const { return write_count_; }

 private:
  class OneWatch;
  class Handle;

  void OnStoreEvents(const std::vector<local::EventPtr>& events);
  void PostDrain(const std::shared_ptr<OneWatch>& watch, Duration wait);

  local::Registry& registry_;
  Executor& executor_;
  SimTransportOptions options_;
  int listener_ = 0;
  std::map<int, std::shared_ptr<OneWatch>> watches_;
  int next_watch_ = 1;
  std::uint64_t write_count_ = 0;
  int stalls_ = 0;  // the number of unfinished stalls
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
