// local/cluster/probes/pod_probes.h — calls the probes of running containers in their periods.
//
// Threads: one Executor; a ProbeCaller may answer on any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/executor.h"
#include "local/cluster/probes/probe_state.h"

namespace berth::local::cluster {

struct ProbeAnswer {
  bool success = false;
  std::string message;  // describes a failure, in kubelet's words
};

// Calls the target of a probe. Tests have implementations of their own.
class ProbeCaller {
 public:
  virtual ~ProbeCaller() = default;
  // `done` is called exactly once, within about `timeout`.
  virtual void Call(const ProbeTarget& target, Duration timeout,
                    std::function<void(ProbeAnswer)> done) = 0;
};

class PodProbes {
 public:
  using Container = std::pair<std::string, std::size_t>;  // uid of the pod, place in PodRun
  using OnVerdict =
      std::function<void(const Container&, ProbeKind kind, bool passed, const std::string& why)>;
  // Runs a command as a process of the container; the caller of `done` may be any thread.
  using RunCommand = std::function<void(const Container&, const std::vector<std::string>& command,
                                        Duration timeout, std::function<void(ProbeAnswer)> done)>;

  PodProbes(Executor& executor, ProbeCaller& caller, RunCommand run, OnVerdict on_verdict);

  // `container` is the container's declaration in the pod's spec. Replaces earlier probes of
  // `place`.
  void Start(const Container& place, const Json& container, const std::string& pod_address);
  void Stop(const Container& place);

 private:
  struct Life {
    Container place;
    std::vector<DeclaredProbe> probes;
    bool is_started = true;
  };

  void LookAfter(const std::weak_ptr<Life>& life, std::size_t at, Duration delay);
  void Look(const std::shared_ptr<Life>& life, std::size_t at);
  void Note(const std::shared_ptr<Life>& life, std::size_t at, const ProbeAnswer& answer);

  Executor& executor_;
  ProbeCaller& caller_;
  const RunCommand run_;
  const OnVerdict on_verdict_;
  std::map<Container, std::shared_ptr<Life>> lives_;
};

}  // namespace berth::local::cluster
