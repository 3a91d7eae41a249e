#include "scenarios/expectations.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "scenarios/lookup.h"
#include "scenarios/short_forms.h"
#include "scenarios/told_why.h"
#include "scenarios/topology_words.h"

namespace berth::scenarios {
namespace {

using local::Object;
using local::cluster::ArrayAt;
using local::cluster::NameOf;
using local::cluster::NamespaceOf;
using local::cluster::StringAt;

Finding SameCount(std::size_t found, const std::string& wanted, const std::string& names) {
  return {std::to_string(found) == wanted,
          std::to_string(found) + (names.empty() ? "" : ":" + names)};
}

// "8" and "8000m" are the same amount.
bool SameAmount(const std::string& a, const std::string& b) {
  const auto x = api::Quantity::Parse(a);
  const auto y = api::Quantity::Parse(b);
  return x && y ? *x == *y : a == b;
}

std::string TextOf(const Json* value) {
  if (value == nullptr) return "(nothing)";
  return value->is_string() ? value->get<std::string>() : api::FormatJson(*value);
}

// Every quoted word is part of `text`, and message=… is all of it.
bool TextFits(const Step& step, const std::string& text) {
  for (const Word& word : step.words) {
    if (word.is_quoted && text.find(word.text) == std::string::npos) return false;
  }
  const auto whole = step.Find("message");
  return !whole || *whole == text;
}

std::string ConditionText(const Json& condition) {
  return StringAt(condition, {"type"}) + "=" + StringAt(condition, {"status"}) +
         " reason=" + StringAt(condition, {"reason"}) + " \"" + StringAt(condition, {"message"}) +
         "\"";
}

Finding ConditionIs(const Json& object, const std::string& type, const std::string& status,
                    const Step& step) {
  const Json* condition = local::cluster::FindCondition(object, type);
  if (condition == nullptr) {
    std::string all;
    for (const Json& other : ArrayAt(object, {"status", "conditions"})) {
      all += " " + StringAt(other, {"type"}) + "=" + StringAt(other, {"status"});
    }
    return {status == "Absent", "no condition " + type + (all.empty() ? "" : ", only" + all)};
  }
  const auto reason = step.Find("reason");
  const bool holds = StringAt(*condition, {"status"}) == status &&
                     (!reason || *reason == StringAt(*condition, {"reason"})) &&
                     TextFits(step, StringAt(*condition, {"message"}));
  return {holds, ConditionText(*condition)};
}

Finding JobIs(const Json& job, const std::string& state) {
  const bool suspended = local::cluster::BoolAt(job, {"spec", "suspend"});
  const std::string counts = TextOf(At(job, "status"));
  if (state == "suspended") return {suspended, "suspend=" + std::to_string(suspended ? 1 : 0)};
  if (state == "admitted") return {!suspended, "suspend=" + std::to_string(suspended ? 1 : 0)};
  if (state == "running") {
    return {!suspended && local::cluster::IntAt(job, {"status", "ready"}) > 0, counts};
  }
  if (state == "complete") return {local::cluster::ConditionIs(job, "Complete", "True"), counts};
  if (state == "failed") return {local::cluster::ConditionIs(job, "Failed", "True"), counts};
  return {false, "a job is never \"" + state + "\""};
}

bool IsJobState(const std::string& word) {
  static const std::set<std::string> kStates{"suspended", "admitted", "running", "complete",
                                             "failed"};
  return kStates.count(word) > 0;
}

Finding OptionHolds(const Found& found, const std::string& key, const std::string& value,
                    const Step& step) {
  const Json& object = *found.object;
  if (key.find('.') != std::string::npos || key[0] == '/') {
    const std::string text = TextOf(At(object, key));
    return {text == value || SameAmount(text, value), key + "=" + text};
  }
  if (found.kind.kind == "Job" && std::islower(static_cast<unsigned char>(key[0])) != 0) {
    const Json* count = At(object, "status." + key);
    const std::string text = count == nullptr ? "0" : TextOf(count);
    return {text == value, key + "=" + text};
  }
  return ConditionIs(object, key, value, step);
}

// KIND NAME: gone, exists, a job's state, conditions, fields. All of them must hold.
Result<Finding> ObjectIs(sim::SimWorld& world, const Chronicle&, const Step& step) {
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindNamed(world, step, 0, next));
  const std::vector<std::string> words = step.plains();
  const bool wants_gone = next < words.size() && words[next] == "gone";
  if (wants_gone) return Finding{found.object == nullptr, "it exists"};
  if (found.object == nullptr) return Finding{false, "there is none"};
  Finding last{true, "it exists"};
  for (std::size_t i = next; i < words.size() && last.holds; ++i) {
    if (words[i] == "exists") continue;
    last = found.kind.kind == "Job" && IsJobState(words[i])
               ? JobIs(*found.object, words[i])
               : ConditionIs(*found.object, words[i], "True", step);
  }
  for (const Word& word : step.words) {
    static const std::set<std::string> kOthers{"reason", "message", "attempt"};
    if (!word.option || kOthers.count(word.option->first) > 0 || !last.holds) continue;
    last = OptionHolds(found, word.option->first, word.option->second, step);
  }
  return last;
}

// check of JOB NAME STATE "message"
Result<Finding> CheckIs(sim::SimWorld& world, const Chronicle& chronicle, const Step& step) {
  if (step.plain(1) != "of") return ObjectIs(world, chronicle, step);
  const Object workload = WorkloadOf(world, step.plain(2));
  if (workload == nullptr) return Finding{false, "there is no workload"};
  for (const Json& check : ArrayAt(*workload, {"status", "admissionChecks"})) {
    if (StringAt(check, {"name"}) != step.plain(3)) continue;
    const std::string state = StringAt(check, {"state"});
    const std::string message = StringAt(check, {"message"});
    bool holds = state == step.plain(4) && TextFits(step, message);
    for (const Word& word : step.words) {
      if (word.option && word.option->first.find('.') != std::string::npos) {
        holds = holds && TextOf(At(check, word.option->first)) == word.option->second;
      }
    }
    return Finding{holds, api::FormatJson(check)};
  }
  return Finding{step.plain(4) == "none", "no such check in the workload's status"};
}

// provreqs N | provreqs of JOB N
Result<Finding> RequestCount(sim::SimWorld& world, const Chronicle&, const Step& step) {
  const bool of = step.plain(1) == "of";
  const std::vector<Object> requests =
      of ? RequestsOf(world, step.plain(2)) : AllOf(world, "provisioningrequest");
  std::string names;
  for (const Object& request : requests) names += " " + NameOf(*request);
  return SameCount(requests.size(), step.plain(of ? 3 : 1), names);
}

// nodes N [pool=P] [ready]
Result<Finding> NodeCount(sim::SimWorld& world, const Chronicle&, const Step& step) {
  const std::vector<std::string> words = step.plains();
  const bool ready = std::find(words.begin(), words.end(), "ready") != words.end();
  std::size_t count = 0;
  std::string names;
  for (const Object& node : AllOf(world, "node")) {
    const auto pool = step.Find("pool");
    if (pool && local::cluster::LabelOf(*node, "cloud.google.com/gke-nodepool") != *pool) continue;
    if (ready && !local::cluster::ConditionIs(*node, "Ready", "True")) continue;
    ++count;
    names += " " + NameOf(*node);
  }
  return SameCount(count, step.plain(1), names);
}

// pods of JOB N [phase=P] [node=N] [path=value]
Result<Finding> PodCount(sim::SimWorld& world, const Chronicle&, const Step& step) {
  const ObjectName named = ObjectNameOf(step.plain(2));
  std::size_t count = 0;
  std::string seen;
  for (const Object& pod : AllOf(world, "pod")) {
    if (NamespaceOf(*pod) != named.namespace_name ||
        local::cluster::LabelOf(*pod, "batch.kubernetes.io/job-name") != named.name) {
      continue;
    }
    bool fits = true;
    for (const Word& word : step.words) {
      if (!word.option) continue;
      std::string path = word.option->first;
      if (path == "phase") path = "status.phase";
      if (path == "node") path = "spec.nodeName";
      fits = fits && TextOf(At(*pod, path)) == word.option->second;
    }
    seen += " " + NameOf(*pod) + "(" + StringAt(*pod, {"status", "phase"}) + ")";
    if (fits) ++count;
  }
  return SameCount(count, step.plain(3), seen);
}

// count KIND N [namespace=NS]
Result<Finding> ObjectCount(sim::SimWorld& world, const Chronicle&, const Step& step) {
  if (!world.FindKind(step.plain(1))) return Bad("no kind is called \"" + step.plain(1) + "\"");
  std::size_t count = 0;
  std::string names;
  for (const Object& object : AllOf(world, step.plain(1))) {
    const auto wanted = step.Find("namespace");
    if (wanted && NamespaceOf(*object) != *wanted) continue;
    ++count;
    names += " " + NameOf(*object);
  }
  return SameCount(count, step.plain(2), names);
}

// event of NAME REASON "text" [count=N]
Result<Finding> EventIs(sim::SimWorld& world, const Chronicle&, const Step& step) {
  const ObjectName named = ObjectNameOf(step.plain(2));
  std::size_t count = 0;
  std::string others;
  std::set<std::string> names{named.name};
  if (const Object workload = WorkloadOf(world, step.plain(2))) names.insert(NameOf(*workload));
  for (const Object& event : AllOf(world, "event")) {
    const char* about = event->contains("regarding") ? "regarding" : "involvedObject";
    const std::string text = StringAt(*event, {event->contains("note") ? "note" : "message"});
    if (names.count(StringAt(*event, {about, "name"})) == 0) continue;
    const std::string reason = StringAt(*event, {"reason"});
    others += "\n    " + reason + " \"" + text + "\"";
    const auto type = step.Find("type");
    if (reason == step.plain(3) && TextFits(step, text) &&
        (!type || StringAt(*event, {"type"}) == *type)) {
      ++count;
    }
  }
  const auto wanted = step.Find("count");
  return Finding{wanted ? std::to_string(count) == *wanted : count > 0, "events:" + others};
}

// usage|reservation CLUSTERQUEUE FLAVOR RESOURCE AMOUNT [borrowed=N]
Result<Finding> UsageIs(sim::SimWorld& world, const Chronicle&, const Step& step) {
  const auto kind = world.FindKind("clusterqueue");
  const auto queue = world.api().Get(kind->id, "", step.plain(1));
  if (!queue) return Finding{false, queue.error().message};
  const char* field = step.verb() == "usage" ? "flavorsUsage" : "flavorsReservation";
  for (const Json& flavor : ArrayAt(**queue, {"status", field})) {
    if (StringAt(flavor, {"name"}) != step.plain(2)) continue;
    for (const Json& resource : ArrayAt(flavor, {"resources"})) {
      if (StringAt(resource, {"name"}) != step.plain(3)) continue;
      const std::string total = TextOf(At(resource, "total"));
      const Json* borrowed = At(resource, "borrowed");
      const std::string owed = borrowed == nullptr ? "0" : TextOf(borrowed);
      const auto wanted = step.Find("borrowed");
      return Finding{SameAmount(total, step.plain(4)) && (!wanted || SameAmount(owed, *wanted)),
                     total + " borrowed=" + owed};
    }
  }
  return Finding{false, "no such flavor and resource in " + TextOf(At(**queue, "status"))};
}

// counts CLUSTERQUEUE|[NS/]LOCALQUEUE pending=1 reserving=1 admitted=1
Result<Finding> CountsAre(sim::SimWorld& world, const Chronicle&, const Step& step) {
  static const std::map<std::string, std::string> kFields{{"pending", "pendingWorkloads"},
                                                          {"reserving", "reservingWorkloads"},
                                                          {"admitted", "admittedWorkloads"}};
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindNamed(world, step, 1, next));
  if (found.object == nullptr) return Finding{false, "there is none"};
  Finding finding{true, ""};
  for (const auto& [word, field] : kFields) {
    const Json* value = At(*found.object, "status." + field);
    const std::string text = value == nullptr ? "0" : TextOf(value);
    finding.found += " " + word + "=" + text;
    if (const auto wanted = step.Find(word)) finding.holds = finding.holds && *wanted == text;
  }
  return finding;
}

// flavor of JOB resource=flavor … [podset=main]
Result<Finding> FlavorIs(sim::SimWorld& world, const Chronicle& chronicle, const Step& step) {
  if (step.plain(1) != "of") return ObjectIs(world, chronicle, step);
  const Object workload = WorkloadOf(world, step.plain(2));
  if (workload == nullptr) return Finding{false, "there is no workload"};
  for (const Json& set : ArrayAt(*workload, {"status", "admission", "podSetAssignments"})) {
    if (StringAt(set, {"name"}) != step.Get("podset", "main")) continue;
    bool holds = true;
    for (const Word& word : step.words) {
      if (!word.option || word.option->first == "podset") continue;
      if (word.option->first == "count") {
        holds = holds && TextOf(At(set, "count")) == word.option->second;
        continue;
      }
      const Json* flavors = At(set, "flavors");
      const bool has = flavors != nullptr && flavors->contains(word.option->first);
      holds = holds && has && (*flavors)[word.option->first] == word.option->second;
    }
    return Finding{holds, api::FormatJson(set)};
  }
  return Finding{false, "no assignment: " + TextOf(At(*workload, "status"))};
}

// order A B C: in this order they were given quota; others may come between.
Result<Finding> OrderIs(sim::SimWorld&, const Chronicle& chronicle, const Step& step) {
  const std::vector<std::string> words = step.plains();
  std::size_t at = 1;
  std::string found;
  for (const std::string& name : chronicle.reservations()) {
    found += " " + name;
    if (at >= words.size()) continue;
    const ObjectName named = ObjectNameOf(words[at]);
    if (name == named.namespace_name + "/" + named.name) ++at;
  }
  return Finding{at == words.size(), "quota was given to" + found};
}

// why JOB "text": each quoted text stands in the answer of `berth why`.
Result<Finding> WhyIs(sim::SimWorld& world, const Chronicle&, const Step& step) {
  BERTH_TRY(const std::string text, TellWhy(world, step.plain(1)));
  return Finding{TextFits(step, text), "\n" + text};
}

}  // namespace

Result<Finding> Examine(sim::SimWorld& world, const Chronicle& chronicle, const Step& step) {
  using Examiner = std::function<Result<Finding>(sim::SimWorld&, const Chronicle&, const Step&)>;
  static const std::map<std::string, Examiner, std::less<>> kSubjects{
      {"check", CheckIs},
      {"provreqs", RequestCount},
      {"nodes", NodeCount},
      {"pods", PodCount},
      {"count", ObjectCount},
      {"event", EventIs},
      {"usage", UsageIs},
      {"reservation", UsageIs},
      {"counts", CountsAre},
      {"flavor", FlavorIs},
      {"order", OrderIs},
      {"why", WhyIs},
      {"placed", [](sim::SimWorld& where, const Chronicle&,
                    const Step& asked) { return PlacementIs(where, asked); }},
  };
  const auto subject = kSubjects.find(step.plain(0));
  return subject == kSubjects.end() ? ObjectIs(world, chronicle, step)
                                    : subject->second(world, chronicle, step);
}

}  // namespace berth::scenarios
