#include "tests/golden/replay.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/rfc3339.h"
#include "tests/golden/world.h"

namespace berth::golden {
namespace {

// Removes from a recorded decision the fields that a weaker strength does not compare.
Json Project(Json decision, Strength strength) {
  if (strength == Strength::kC) return decision;
  decision.erase("reason");
  decision.erase("message");
  if (strength == Strength::kB) return decision;
  const bool reserved = decision["result"] == "Admitted" || decision["result"] == "QuotaReserved";
  if (!reserved) decision.erase("podSets");
  for (const char* field : {"mode", "borrowHeight", "targets", "requeue", "to"}) {
    decision.erase(field);
  }
  return decision;
}

Json ByWorkload(Json decisions) {
  std::sort(decisions.begin(), decisions.end(),
            [](const Json& a, const Json& b) { return a["workload"] < b["workload"]; });
  return decisions;
}

class Replayer {
 public:
  Replayer(const Json& story, const admission::OwnRules& own_rules)
      : story_(story), own_rules_(own_rules), lag_(story.at("config").value("evictionLag", 0)) {}

  ReplayResult Run() {
    auto config = World::OptionsOf(story_.at("config"), own_rules_);
    if (!config) return Fail(config.error());
    world_ = std::make_unique<World>(*config);
    const auto start = ParseTime(story_.at("start").get<std::string>());
    world_->SetTime(*start);
    for (const Json& object : story_.at("objects")) {
      if (auto done = world_->ApplyObject(object); !done) return Fail(done.error());
    }
    world_->Advance(std::chrono::seconds(1));
    world_->RunWakeUps();
    for (step_ = 0; step_ < story_.at("steps").size(); ++step_) {
      if (auto done = RunStep(); !done) return Fail(done.error());
      if (result_.a) break;
    }
    return std::move(result_);
  }

 private:
  ReplayResult Fail(const Error& error) {
    result_.error = error.message;
    return std::move(result_);
  }

  void Compare(Strength strength, const std::string& what, const Json& expected,
               const Json& actual) {
    if (expected == actual) return;
    const auto note = [&](std::optional<Difference>& slot) {
      if (!slot) slot = Difference{strength, step_, item_, what, expected, actual};
    };
    if (strength == Strength::kA) note(result_.a);
    if (strength != Strength::kC) note(result_.b);
    note(result_.c);
  }

  Status RunStep() {
    const Json& step = story_.at("steps").at(step_);
    const Json& outcome = story_.at("outcome").at("steps").at(step_);
    const auto at = ParseTime(step.at("at").get<std::string>());
    world_->SetTime(*at);
    for (const Json& event : step.at("events")) BERTH_CHECK_OK(world_->ApplyEvent(event));
    NoteEvictions();
    const bool cut_off = outcome.at("settled") == "limit";
    const Json& trace = outcome.at("trace");
    for (item_ = 0; item_ < trace.size(); ++item_) {
      RunItem(trace.at(item_));
      if (result_.a) return OkStatus();
    }
    if (!cut_off) {
      RunHiddenCycle();
      world_->Advance(std::chrono::seconds(1));
      Compare(Strength::kB, "woken at the end", Json::array(), world_->RunWakeUps());
    }
    CompareState(outcome.at("state"));
    return OkStatus();
  }

  void RunItem(const Json& item) {
    if (item.contains("cycle")) {
      world_->Advance(std::chrono::milliseconds(1));
      const Json actual = world_->RunCycle();
      CountDown();
      NoteEvictions();
      CompareCycle(item, actual);
    } else if (item.contains("evicted")) {
      Release(item.at("evicted"));
    } else if (item.contains("woken")) {
      RunHiddenCycle();
      world_->Advance(std::chrono::seconds(1));
      Json woken = item.at("woken");
      std::sort(woken.begin(), woken.end());
      Compare(Strength::kB, "woken", woken, world_->RunWakeUps());
    }
  }

  // A queue that is stuck never empties its heap: the recorder noticed that by a cycle that it did
  // not record.
  void RunHiddenCycle() {
    if (!world_->HasHeads()) return;
    world_->Advance(std::chrono::milliseconds(1));
    world_->RunCycle();
    CountDown();
    NoteEvictions();
  }

  void NoteEvictions() {
    for (const std::string& name : world_->Evicted()) due_.try_emplace(name, lag_);
  }
  void CountDown() {
    for (auto& [name, left] : due_) --left;
  }

  void Release(const Json& evicted) {
    bool early = false;
    for (const Json& entry : evicted) {
      const auto due = due_.find(entry.at("name").get<std::string>());
      early = early || (due != due_.end() && due->second > 0);
    }
    if (early) RunHiddenCycle();
    for (const Json& entry : evicted) {
      const auto name = entry.at("name").get<std::string>();
      due_.erase(name);
      Compare(Strength::kA, "evicted " + name, entry.at("reason"), world_->Release(name));
    }
  }

  void CompareCycle(const Json& expected, const Json& actual) {
    for (const Strength strength : {Strength::kA, Strength::kB, Strength::kC}) {
      Json left = Json::array();
      Json right = Json::array();
      for (const Json& decision : expected.at("cycle")) left.push_back(Project(decision, strength));
      for (const Json& decision : actual.at("cycle")) right.push_back(Project(decision, strength));
      const Json left_sorted = ByWorkload(left);
      const Json right_sorted = ByWorkload(right);
      const std::size_t common = std::min(left_sorted.size(), right_sorted.size());
      for (std::size_t i = 0; i < common; ++i) {
        Compare(strength, "decision", left_sorted[i], right_sorted[i]);
      }
      if (left_sorted.size() != right_sorted.size()) {
        Compare(strength, "heads", left_sorted, right_sorted);
      }
      if (strength == Strength::kB) Compare(strength, "order", Order(left), Order(right));
    }
    Json parked = expected.value("bulkParked", Json::array());
    std::sort(parked.begin(), parked.end());
    Compare(Strength::kB, "bulkParked", parked, actual.value("bulkParked", Json::array()));
  }

  static Json Order(const Json& decisions) {
    Json order = Json::array();
    for (const Json& decision : decisions) order.push_back(decision["workload"]);
    return order;
  }

  void CompareState(const Json& expected) {
    const Json actual = world_->State();
    const auto compare = [&](Strength strength, const char* field, const Json& absent) {
      Compare(strength, field, expected.value(field, absent), actual.value(field, absent));
    };
    compare(Strength::kA, "admitted", Json::array());
    compare(Strength::kA, "usage", Json::object());
    compare(Strength::kB, "cohortUsage", Json::object());
    compare(Strength::kB, "pending", Json::object());
    compare(Strength::kB, "inadmissible", Json::object());
    compare(Strength::kB, "inactiveClusterQueues", Json::array());
    compare(Strength::kB, "notQueued", Json::array());
  }

  const Json& story_;
  const admission::OwnRules own_rules_;
  int lag_;
  std::unique_ptr<World> world_;
  std::map<std::string, int> due_;  // evicted → the number of cycles until they stop
  std::size_t step_ = 0;
  std::size_t item_ = 0;
  ReplayResult result_;
};

std::optional<Difference> First(const ReplayResult& result) {
  if (result.a) return result.a;
  if (result.b) return result.b;
  return result.c;
}

// The story without a workload: its events, its decisions, its part of states and lists.
Json Without(Json story, const std::string& name) {
  const auto is_it = [&name](const Json& entry) {
    if (entry.is_string()) return entry == name;
    return entry.value("workload", entry.value("name", "")) == name;
  };
  const auto drop = [&is_it](Json& list) {
    Json kept = Json::array();
    for (Json& entry : list) {
      if (!is_it(entry)) kept.push_back(std::move(entry));
    }
    list = std::move(kept);
  };
  for (Json& step : story["steps"]) {
    Json kept = Json::array();
    for (Json& event : step["events"]) {
      const std::string of = event.contains("object")
                                 ? event["object"]["metadata"].value("name", "")
                                 : event.value("name", "");
      const bool on_workload = event.contains("object") ? event["object"]["kind"] == "Workload"
                                                        : !event.contains("kind");
      if (!on_workload || of != name) kept.push_back(std::move(event));
    }
    step["events"] = std::move(kept);
  }
  for (Json& step : story["outcome"]["steps"]) {
    for (Json& item : step["trace"]) {
      for (const char* field : {"cycle", "bulkParked", "evicted", "woken"}) {
        if (item.contains(field)) drop(item[field]);
      }
    }
    drop(step["state"]["admitted"]);
    for (const char* field : {"pending", "inadmissible"}) {
      Json kept = Json::object();
      for (auto& [queue, list] : step["state"][field].items()) {
        drop(list);
        if (!list.empty()) kept[queue] = list;
      }
      step["state"][field] = kept;
    }
    if (step["state"].contains("notQueued")) drop(step["state"]["notQueued"]);
  }
  return story;
}

}  // namespace

ReplayResult Replay(const Json& story, const admission::OwnRules& own_rules) {
  try {
    return Replayer(story, own_rules).Run();
  } catch (const nlohmann::json::exception& failure) {
    ReplayResult result;
    result.error = failure.what();
    return result;
  }
}

Json Shrink(const Json& story, const admission::OwnRules& own_rules) {
  const std::optional<Difference> wanted = First(Replay(story, own_rules));
  Json best = story;
  if (!wanted) return best;
  for (Json* list : {&best["steps"], &best["outcome"]["steps"]}) {
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(wanted->step) + 1, list->end());
  }
  std::set<std::string> names;
  for (const Json& step : best["steps"]) {
    for (const Json& event : step["events"]) {
      if (event.contains("object") && event["object"]["kind"] == "Workload") {
        names.insert(event["object"]["metadata"].value("name", ""));
      }
    }
  }
  const auto keep_if_it_differs = [&](Json without) {
    const std::optional<Difference> found = First(Replay(without, own_rules));
    const bool same = found && found->step == wanted->step && found->item == wanted->item &&
                      found->expected == wanted->expected && found->actual == wanted->actual;
    if (same) best = std::move(without);
  };
  for (const std::string& name : names) keep_if_it_differs(Without(best, name));
  for (std::size_t step = best["steps"].size(); step-- > 0;) {
    for (std::size_t event = best["steps"][step]["events"].size(); event-- > 0;) {
      Json without = best;
      without["steps"][step]["events"].erase(event);
      keep_if_it_differs(std::move(without));
    }
  }
  return best;
}

}  // namespace berth::golden
