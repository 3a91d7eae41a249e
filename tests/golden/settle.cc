#include "tests/golden/settle.h"

#include <map>
#include <optional>
#include <set>

#include "base/rfc3339.h"
#include "tests/golden/world.h"

namespace berth::golden {
namespace {

// A blocked StrictFIFO head is tried repeatedly: after so many cycles per workload without a change
// the heads have tried all their flavors.
constexpr std::size_t kIdleCyclesPerWorkload = 4;

std::size_t NewVictims(const Json& cycle) {
  std::size_t count = 0;
  for (const Json& decision : cycle.at("cycle")) {
    for (const Json& victim : decision.value("victims", Json::array())) {
      count += victim.value("ongoing", false) ? 0 : 1;
    }
  }
  return count;
}

WallTime TimeOf(const Json& text) {
  return ParseTime(text.get<std::string>()).value_or(WallTime{});
}

bool Admits(const Json& cycle) {
  for (const Json& decision : cycle.at("cycle")) {
    if (decision.at("result") == "Admitted" || decision.at("result") == "QuotaReserved") {
      return true;
    }
  }
  return false;
}

class Player {
 public:
  // Records the cycles in `steps`, unless null, in the recorded form.
  Player(const Json& story, const admission::DriverOptions& options, Json* steps)
      : story_(story),
        world_(options),
        steps_(steps),
        lag_(story.at("config").value("evictionLag", 0)),
        limit_(story.at("config").at("maxCyclesPerStep").get<std::size_t>()) {}

  Status Play(SettleResult& result) {
    world_.SetTime(TimeOf(story_.at("start")));
    for (const Json& object : story_.at("objects")) BERTH_CHECK_OK(world_.ApplyObject(object));
    world_.Advance(std::chrono::seconds(1));
    world_.RunWakeUps();
    for (const Json& step : story_.at("steps")) {
      trace_ = Json::array();
      world_.SetTime(TimeOf(step.at("at")));
      for (const Json& event : step.at("events")) BERTH_CHECK_OK(world_.ApplyEvent(event));
      victims_ = 0;
      if (ComesToRest()) {
        result.victims += victims_;
      } else {
        ++result.cut_off;
      }
      if (steps_ != nullptr) steps_->push_back({{"trace", trace_}, {"state", world_.State()}});
    }
    return OkStatus();
  }

 private:
  bool ComesToRest() {
    ReleaseDue(0);
    std::size_t cycles = 0;
    std::size_t idle = 0;
    while (true) {
      const std::size_t patience = kIdleCyclesPerWorkload * world_.core().workloads().size();
      if (world_.HasHeads() && idle < patience) {
        const bool moved = RunCycle();
        idle = moved ? 0 : idle + 1;
        if (moved && ++cycles > limit_) return false;
        continue;
      }
      if (ReleaseDue(lag_)) {
        idle = 0;
        continue;
      }
      world_.Advance(std::chrono::seconds(1));
      const std::vector<std::string> woken = world_.RunWakeUps();
      if (woken.empty()) return true;
      trace_.push_back({{"woken", woken}});
      idle = 0;
    }
  }

  bool RunCycle() {
    world_.Advance(std::chrono::milliseconds(1));
    const Json cycle = world_.RunCycle();
    const std::size_t new_victims = NewVictims(cycle);
    victims_ += new_victims;
    for (auto& [name, left] : due_) --left;
    const bool moved = new_victims > 0 || Admits(cycle);
    if (moved) idle_cycles_.clear();
    // A blocked head is tried repeatedly: each such cycle is recorded once.
    if (steps_ != nullptr && (moved || idle_cycles_.insert(cycle.dump()).second)) {
      trace_.push_back(cycle);
    }
    return ReleaseDue(0) || moved;
  }

  // Stops the evicted workloads that have at most `left` cycles left.
  bool ReleaseDue(int left) {
    bool any = false;
    std::map<std::string, int> still;
    for (const std::string& name : world_.Evicted()) {
      const auto known = due_.find(name);
      still[name] = known != due_.end() ? known->second : lag_;
    }
    due_ = std::move(still);
    for (auto entry = due_.begin(); entry != due_.end();) {
      if (entry->second > left) {
        ++entry;
        continue;
      }
      const std::string reason = world_.Release(entry->first);
      trace_.push_back({{"evicted", {{{"name", entry->first}, {"reason", reason}}}}});
      idle_cycles_.clear();
      entry = due_.erase(entry);
      any = true;
    }
    return any;
  }

  const Json& story_;
  World world_;
  Json* steps_;
  Json trace_;                         // the trace of the step under way
  std::set<std::string> idle_cycles_;  // since the last progress
  int lag_;
  std::size_t limit_;
  std::map<std::string, int> due_;  // evicted: cycles until they stop
  std::size_t victims_ = 0;
};

}  // namespace

SettleResult Settle(const Json& story, const admission::OwnRules& own_rules, Json* steps) {
  SettleResult result;
  try {
    const auto options = World::OptionsOf(story.at("config"), own_rules);
    const Status played =
        options ? Player(story, *options, steps).Play(result) : Status(options.error());
    if (!played) result.error = played.error().message;
  } catch (const nlohmann::json::exception& failure) {
    result.error = failure.what();
  }
  return result;
}

}  // namespace berth::golden
