#include "local/cluster/probes/pod_probes.h"

namespace berth::local::cluster {

PodProbes::PodProbes(Executor& executor, ProbeCaller& caller, RunCommand run, OnVerdict on_verdict)
    : executor_(executor),
      caller_(caller),
      run_(std::move(run)),
      on_verdict_(std::move(on_verdict)) {}

void PodProbes::Start(const Container& place, const Json& container,
                      const std::string& pod_address) {
  auto life = std::make_shared<Life>();
  life->place = place;
  life->probes = ProbesOf(container, pod_address);
  if (life->probes.empty()) return;
  life->is_started = !HasProbe(container, ProbeKind::kStartup);
  lives_[place] = life;
  for (std::size_t at = 0; at < life->probes.size(); ++at) {
    LookAfter(life, at, life->probes[at].state.initial_delay());
  }
}

void PodProbes::Stop(const Container& place) { lives_.erase(place); }

void PodProbes::LookAfter(const std::weak_ptr<Life>& life, std::size_t at, Duration delay) {
  executor_.PostAfter(delay, [this, life, at] {
    if (const auto present = life.lock()) Look(present, at);
  });
}

void PodProbes::Look(const std::shared_ptr<Life>& life, std::size_t at) {
  const DeclaredProbe& probe = life->probes[at];
  const bool is_startup = probe.state.kind() == ProbeKind::kStartup;
  if (is_startup == life->is_started) {
    // The startup probe is over, or the others wait for its end.
    if (!is_startup) LookAfter(life, at, std::chrono::seconds(1));
    return;
  }
  auto done = [this, life = std::weak_ptr<Life>(life), at](const ProbeAnswer& answer) {
    executor_.Post([this, life, at, answer] {
      if (const auto present = life.lock()) Note(present, at, answer);
    });
  };
  if (probe.target.how == ProbeTarget::How::kExec) {
    run_(life->place, probe.target.command, probe.state.timeout(), std::move(done));
  } else {
    caller_.Call(probe.target, probe.state.timeout(), std::move(done));
  }
}

void PodProbes::Note(const std::shared_ptr<Life>& life, std::size_t at, const ProbeAnswer& answer) {
  ProbeState& state = life->probes[at].state;
  const std::optional<bool> verdict = state.Note(answer.success);
  if (state.kind() == ProbeKind::kStartup && verdict && *verdict) life->is_started = true;
  LookAfter(life, at, state.period());
  if (verdict) on_verdict_(life->place, state.kind(), *verdict, answer.message);
}

}  // namespace berth::local::cluster
