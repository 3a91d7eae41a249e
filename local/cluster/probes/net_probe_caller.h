// local/cluster/probes/net_probe_caller.h — probes over the network, on a thread that starts with
// the first probe.
//
// Threads: Call: one; answers come on the thread of the pool.
#pragma once

#include <memory>

#include "local/cluster/probes/pod_probes.h"
#include "net/io_pool.h"

namespace berth::local::cluster {

class NetProbeCaller final : public ProbeCaller {
 public:
  NetProbeCaller() = default;
  ~NetProbeCaller() override;

  void Call(const ProbeTarget& target, Duration timeout,
            std::function<void(ProbeAnswer)> done) override;

 private:
  std::unique_ptr<net::IoPool> pool_;
};

}  // namespace berth::local::cluster
