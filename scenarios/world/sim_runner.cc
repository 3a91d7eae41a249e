#include "scenarios/world/sim_runner.h"

#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "local/cluster/kubelet/image_map.h"

namespace berth::sim {
namespace {

using local::cluster::ProcessExit;
using local::cluster::ProcessId;

constexpr std::string_view kExitPrefix = "exit=";
constexpr std::string_view kStopsPrefix = "stops=";

struct Plan {
  Duration runs{};
  Duration stops{};
  int exit_code = 0;
};

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Plan PlanOf(const std::vector<std::string>& argv) {
  Plan plan;
  if (argv.empty()) return plan;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.substr(0, kExitPrefix.size()) == kExitPrefix) {
      const auto code = ParseInt64(word.substr(kExitPrefix.size()));
      plan.exit_code = static_cast<int>(code.value_or(1));
    } else if (word.substr(0, kStopsPrefix.size()) == kStopsPrefix) {
      const auto seconds = local::cluster::ParseGoDuration(word.substr(kStopsPrefix.size()));
      plan.stops = Seconds(seconds.value_or(0));
    } else if (const auto seconds = local::cluster::ParseGoDuration(word)) {
      plan.runs = Seconds(*seconds);
    } else if (argv[0] == "/bin/sleep") {
      plan.runs = Seconds(std::strtod(word.c_str(), nullptr));
    }
  }
  return plan;
}

}  // namespace

Result<ProcessId> SimRunner::Spawn(const local::cluster::ProcessSpec& spec, OnExit on_exit) {
  const ProcessId id = next_id_++;
  const Plan plan = PlanOf(spec.argv);
  running_[id] = {std::move(on_exit), plan.stops};
  ++spawned_count_;
  executor_.PostAfter(plan.runs,
                      [this, id, code = plan.exit_code, alive = std::weak_ptr<bool>(alive_)] {
                        if (!alive.expired()) End(id, {code, 0});
                      });
  return id;
}

void SimRunner::Signal(ProcessId id, int signal) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  // The end is reported later, as it is for real processes.
  const Duration stops = signal == SIGKILL ? Duration::zero() : found->second.stops;
  executor_.PostAfter(stops, [this, id, signal, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) End(id, {128 + signal, signal});
  });
}

void SimRunner::End(ProcessId id, ProcessExit exit) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  const OnExit on_exit = std::move(found->second.on_exit);
  running_.erase(found);
  on_exit(exit);
}

}  // namespace berth::sim
