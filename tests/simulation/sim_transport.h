// tests/simulation/sim_transport.h — a kube::Transport that reaches the embedded registry by
// function calls in virtual time.
//
//     ApiClient ─Send─▶ latency ─▶ Registry ─▶ latency ─▶ done
//     Reflector ─Watch▶ position in the store's window ─▶ on_event, one task a batch
//
// The wire (HTTP, TLS, text) is left out; paths, parameters, defaulting, webhooks, validation,
// conversion and managedFields are the real ones.
//
// Threads: one. The registry and the executor must outlive it; requests under way when it is
// destroyed are not answered.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/executor.h"
#include "kube/client/transport.h"
#include "local/apiserver/registry/registry.h"

namespace berth::sim {

// What goes wrong with one request.
enum class Fault {
  kNone,
  kConflict,     // 409, nothing written
  kUnavailable,  // no answer; nothing happened
  kLostAnswer,   // it happened, but the answer is lost
  kSlow,         // answered after `slow`
};

struct SimTransportOptions {
  Duration latency = std::chrono::milliseconds(1);  // each way
  Duration slow = std::chrono::seconds(5);
  // Asked for every request. Null: nothing goes wrong.
  std::function<Fault(const kube::ApiRequest& request)> fault;
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

  // Ends every open watch as a dying connection does.
  void BreakWatches();
  std::size_t watch_count() const { return watches_.size(); }
  std::uint64_t write_count() const { return write_count_; }

 private:
  class OneWatch;
  class Handle;

  void OnStoreEvents(const std::vector<local::EventPtr>& events);

  local::Registry& registry_;
  Executor& executor_;
  SimTransportOptions options_;
  int listener_ = 0;
  std::map<int, std::shared_ptr<OneWatch>> watches_;
  int next_watch_ = 1;
  std::uint64_t write_count_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim
