// tests/load/busy_server.h — an API server with few cores, in virtual time.
//
//     clients ─▶ one queue ─▶ `cores` workers, each request takes its service time ─▶ Registry
//
// Latency follows from the load: a client that writes more than the cores serve waits longer, as
// does every other client.
//
// Service times are processor time of a real kube-apiserver and etcd on the machine of
// docs/develop/performance-history.md. Delivery of watch events is free of charge.
//
// Threads: one. The executor must outlive both classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/executor.h"
#include "kube/client/transport.h"

namespace berth::sim {

class BusyServer {
 public:
  BusyServer(Executor& executor, std::size_t cores, double slowness)
      : executor_(executor), cores_(cores), slowness_(slowness) {}

  // Calls `serve` when a worker has served the request for its service time.
  void Submit(const kube::ApiRequest& request, std::function<void()> serve);

  std::size_t queued() const { return queue_.size(); }
  // "PATCH workloads/status": how many.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  Duration busy() const { return busy_; }  // the sum of all workers

 private:
  struct Job {
    Duration service;
    std::function<void()> serve;
  };
  void Pump();

  Executor& executor_;
  const std::size_t cores_;
  const double slowness_;  // factor of all service times
  std::size_t working_ = 0;
  std::deque<Job> queue_;
  std::map<std::string, std::uint64_t> counts_;
  Duration busy_{};
};

// The way of one client to the server.
class BusyTransport final : public kube::Transport {
 public:
  BusyTransport(kube::Transport& inner, BusyServer& server) : inner_(inner), server_(server) {}

  void Send(kube::ApiRequest request, Duration timeout,
            std::function<void(Result<kube::ApiResponse>)> done) override;
  std::unique_ptr<kube::WatchHandle> Watch(kube::ApiRequest request, Duration silence,
                                           kube::WatchCallbacks callbacks) override {
    return inner_.Watch(std::move(request), silence, std::move(callbacks));
  }

 private:
  kube::Transport& inner_;
  BusyServer& server_;
};

}  // namespace berth::sim
