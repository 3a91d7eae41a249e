#include "scenarios/chronicle.h"

#include <set>

#include "local/cluster/objects/fields.h"
#include "scenarios/script.h"

namespace berth::scenarios {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::BoolAt;
using local::cluster::FindCondition;
using local::cluster::IntAt;
using local::cluster::KeyOf;
using local::cluster::StringAt;

using Type = local::WatchEvent::Type;

// Kinds whose creations and deletions are part of the chronicle.
bool ComesAndGoes(const std::string& resource) {
  static const std::set<std::string> kResources{"jobs",         "workloads", "provisioningrequests",
                                                "podtemplates", "nodes",     "pods"};
  return kResources.count(resource) > 0;
}

std::string DescribeCondition(const Json& condition) {
  return StringAt(condition, {"type"}) + "=" + StringAt(condition, {"status"}) + " " +
         StringAt(condition, {"reason"}) + " \"" + StringAt(condition, {"message"}) + "\"";
}

std::string DescribeCheck(const Json& check) {
  return "check " + StringAt(check, {"name"}) + " " + StringAt(check, {"state"}) + " \"" +
         StringAt(check, {"message"}) + "\"";
}

std::string OwnerOf(const Json& workload) {
  const Json* owner = local::cluster::ControllerRef(workload);
  const std::string name =
      owner == nullptr ? StringAt(workload, {"metadata", "name"}) : StringAt(*owner, {"name"});
  return StringAt(workload, {"metadata", "namespace"}) + "/" + name;
}

std::string EventLine(const Json& event) {
  const char* about = event.contains("regarding") ? "regarding" : "involvedObject";
  const char* text = event.contains("note") ? "note" : "message";
  return "event " + StringAt(event, {about, "kind"}) + "/" + StringAt(event, {about, "name"}) +
         " " + StringAt(event, {"reason"}) + " \"" + StringAt(event, {text}) + "\"";
}

}  // namespace

Chronicle::Chronicle(sim::SimWorld& world) : world_(world) {
  const std::int64_t from = world.revision();
  watch_ = world.api().WatchAll(
      local::WatchFrom::kState,
      [this, from](const local::ResourceId& resource, const local::WatchEvent& event) {
        if (local::cluster::ResourceVersionOf(*event.object) > from) OnEvent(resource, event);
      });
}

void Chronicle::Note(const std::string& line) {
  lines_.push_back("[" + FormatSpan(world_.clock().Now() - world_.started_at()) + "] " + line);
}

std::string Chronicle::Text(std::size_t limit) const {
  std::string text;
  const std::size_t first = lines_.size() > limit ? lines_.size() - limit : 0;
  if (first > 0) text = "… " + std::to_string(first) + " lines before\n";
  for (std::size_t i = first; i < lines_.size(); ++i) text += lines_[i] + "\n";
  return text;
}

void Chronicle::OnEvent(const local::ResourceId& resource, const local::WatchEvent& event) {
  static const Json kNothing = Json::object();
  const Json& now = *event.object;
  if (resource.resource == "events") {
    if (event.type == Type::kAdded) Note(EventLine(now));
    return;
  }
  const std::string subject = resource.resource + "/" + KeyOf(now).ToString();
  if (event.type == Type::kDeleted) {
    if (ComesAndGoes(resource.resource)) Note(subject + " deleted");
    return;
  }
  if (event.type == Type::kAdded && ComesAndGoes(resource.resource)) Note(subject + " created");
  const Json& before = event.previous == nullptr ? kNothing : *event.previous;
  CompareConditions(subject, before, now);
  if (resource.resource == "workloads") {
    CompareChecks(subject, before, now);
    const bool had = local::cluster::ConditionIs(before, "QuotaReserved", "True");
    if (!had && local::cluster::ConditionIs(now, "QuotaReserved", "True")) {
      reservations_.push_back(OwnerOf(now));
    }
  }
  if (resource.resource == "jobs") CompareJob(subject, before, now);
  if (resource.resource == "pods") {
    const std::string phase = StringAt(now, {"status", "phase"});
    if (phase != StringAt(before, {"status", "phase"})) Note(subject + " is " + phase);
    const std::string node = StringAt(now, {"spec", "nodeName"});
    if (node != StringAt(before, {"spec", "nodeName"})) Note(subject + " goes to " + node);
  }
}

void Chronicle::CompareConditions(const std::string& subject, const Json& before, const Json& now) {
  if (subject.substr(0, 5) == "pods/" || subject.substr(0, 26) == "customresourcedefinitions/") {
    return;
  }
  for (const Json& condition : ArrayAt(now, {"status", "conditions"})) {
    const Json* old = FindCondition(before, StringAt(condition, {"type"}));
    if (old == nullptr || DescribeCondition(*old) != DescribeCondition(condition)) {
      Note(subject + ": " + DescribeCondition(condition));
    }
  }
}

void Chronicle::CompareChecks(const std::string& subject, const Json& before, const Json& now) {
  std::set<std::string> known;
  for (const Json& check : ArrayAt(before, {"status", "admissionChecks"})) {
    known.insert(DescribeCheck(check));
  }
  for (const Json& check : ArrayAt(now, {"status", "admissionChecks"})) {
    if (known.count(DescribeCheck(check)) == 0) Note(subject + ": " + DescribeCheck(check));
  }
  const auto active = [](const Json& workload) {
    const Json* value = local::cluster::Find(workload, {"spec", "active"});
    return value == nullptr || *value != false;
  };
  if (active(before) != active(now)) Note(subject + ": active=" + (active(now) ? "true" : "false"));
}

void Chronicle::CompareJob(const std::string& subject, const Json& before, const Json& now) {
  if (BoolAt(before, {"spec", "suspend"}) != BoolAt(now, {"spec", "suspend"})) {
    Note(subject + ": suspend=" + (BoolAt(now, {"spec", "suspend"}) ? "true" : "false"));
  }
  std::string counts;
  bool changed = false;
  for (const char* field : {"active", "ready", "succeeded", "failed"}) {
    const std::int64_t count = IntAt(now, {"status", field});
    changed = changed || count != IntAt(before, {"status", field});
    if (count != 0) counts += " " + std::string(field) + "=" + std::to_string(count);
  }
  if (changed) Note(subject + ":" + (counts.empty() ? " no pods" : counts));
}

}  // namespace berth::scenarios
