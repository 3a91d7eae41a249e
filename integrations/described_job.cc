#include "integrations/described_job.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "base/dns_names.h"
#include "integrations/topology_request.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using cel::Value;

constexpr std::size_t kMaxPodSets = 18;  // of a Workload
constexpr std::size_t kMaxConditions = 256;
constexpr std::size_t kMaxNameBytes = 63;

const Json* FindField(const Json& object, const FieldPath& path) {
  const Json* at = &object;
  for (const std::string& key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at->is_null() ? nullptr : at;
}

Json::json_pointer PointerOf(Json::json_pointer base, const FieldPath& path) {
  for (const std::string& key : path) base.push_back(key);
  return base;
}

std::string TextOf(const FieldPath& path) {
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}

// "/spec/jobs/0/template" as "spec.jobs[0].template".
std::string FieldOf(Json::json_pointer pointer) {
  std::string text;
  while (!pointer.empty()) {
    const std::string& key = pointer.back();
    const bool index = !key.empty() && std::all_of(key.begin(), key.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
    std::string part = index ? "[" + key + "]" : key;
    if (!index && !pointer.parent_pointer().empty()) part.insert(part.begin(), '.');
    text.insert(0, part);
    pointer.pop_back();
  }
  return text;
}

Error Invalid(const std::string& at, const std::string& message) {
  return {ErrorCode::kInvalid, at + ": " + message};
}

// The evaluation of one object's expressions. Budget: of all of them together.
class Evaluation {
 public:
  explicit Evaluation(const Json& object) : object_(object) {
    base_.Set("self", Value::View(object_));
    std::map<std::string_view, bool> states;
    if (const Json* conditions = FindField(object_, {"status", "conditions"});
        conditions != nullptr && conditions->is_array()) {
      for (const Json& each : *conditions) AddCondition(each, states);
    }
    cel::Entries entries;
    for (const auto& [type, is_true] : states) {
      entries.emplace_back(Value::ViewText(type), Value::Bool(is_true));
    }
    base_.Set("conditions", Value::Map(std::move(entries)));
  }

  const cel::Activation& base() const { return base_; }
  cel::Activation ForItem(const Json* item, const std::string& key) const {
    cel::Activation activation = base_;
    activation.Set("item", item == nullptr ? Value() : Value::View(*item));
    activation.Set("key", Value::String(key));
    return activation;
  }

  Result<Value> Run(const char* field, const cel::Program& program,
                    const cel::Activation& activation) {
    Result<Value> value = program.Evaluate(activation, budget_);
    if (!value)
      return Error{ErrorCode::kInvalid, std::string(field) + ": " + value.error().message};
    return value;
  }
  Result<bool> Bool(const char* field, const cel::Program& program,
                    const cel::Activation& activation) {
    BERTH_TRY(const Value value, Run(field, program, activation));
    if (value.is(cel::Kind::kBool)) return value.AsBool();
    return Invalid(field, "expected a bool, got " + std::string(value.type_name()));
  }
  // An absent program gives `fallback`.
  Result<bool> Bool(const char* field, const std::optional<cel::Program>& program, bool fallback) {
    return program ? Bool(field, *program, base_) : Result<bool>(fallback);
  }
  Result<std::string> Text(const char* field, const cel::Program& program,
                           const cel::Activation& activation) {
    BERTH_TRY(const Value value, Run(field, program, activation));
    if (value.is(cel::Kind::kString)) return std::string(value.AsText());
    return Invalid(field, "expected a string, got " + std::string(value.type_name()));
  }
  Result<std::int32_t> Count(const char* field, const cel::Program& program,
                             const cel::Activation& activation) {
    BERTH_TRY(const Value value, Run(field, program, activation));
    const std::optional<std::int64_t> whole = value.Whole();
    if (whole && *whole >= 0 && *whole <= std::numeric_limits<std::int32_t>::max()) {
      return static_cast<std::int32_t>(*whole);
    }
    return Invalid(field, "expected a number of pods, got " + value.ToText());
  }

 private:
  // The first of several conditions of one type counts.
  static void AddCondition(const Json& condition, std::map<std::string_view, bool>& states) {
    if (!condition.is_object() || states.size() >= kMaxConditions) return;
    const auto type = condition.find("type");
    const auto status = condition.find("status");
    if (type == condition.end() || status == condition.end() || !type->is_string()) return;
    states.emplace(type->get_ref<const std::string&>(), *status == "True");
  }

  const Json& object_;
  cel::Activation base_;
  std::uint64_t budget_ = cel::Limits{}.cost;
};

// One pod set of an object, with the place of its template.
struct PlacedPodSet {
  api::PodSet pods;
  Json::json_pointer pod_template;
  const PodSetRule* rule = nullptr;
  const Json* item = nullptr;
  std::string key;
};

class PodSetReader {
 public:
  PodSetReader(const KindDescription& kind, const Json& object, Evaluation& evaluation)
      : kind_(kind), object_(object), evaluation_(evaluation) {}

  Result<std::vector<PlacedPodSet>> Read() {
    for (const PodSetRule& rule : kind_.pod_sets) {
      if (rule.each.empty()) {
        BERTH_CHECK_OK(Add(rule, object_, Json::json_pointer(), ""));
        continue;
      }
      const Json* each = FindField(object_, rule.each);
      if (each == nullptr) continue;
      const Json::json_pointer at = PointerOf(Json::json_pointer(), rule.each);
      if (!rule.keys.empty()) {
        BERTH_CHECK_OK(AddMembers(rule, *each, at));
      } else {
        BERTH_CHECK_OK(AddItems(rule, *each, at));
      }
    }
    return std::move(out_);
  }

 private:
  Status AddMembers(const PodSetRule& rule, const Json& map, const Json::json_pointer& at) {
    if (!map.is_object()) return Invalid(TextOf(rule.each), "expected an object");
    for (const std::string& key : rule.keys) {
      const auto found = map.find(key);
      if (found == map.end() || found->is_null()) continue;
      BERTH_CHECK_OK(Add(rule, *found, at / key, key));
    }
    return OkStatus();
  }

  Status AddItems(const PodSetRule& rule, const Json& list, const Json::json_pointer& at) {
    if (!list.is_array()) return Invalid(TextOf(rule.each), "expected a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
      BERTH_CHECK_OK(Add(rule, list[i], at / i, ""));
    }
    return OkStatus();
  }

  Status Add(const PodSetRule& rule, const Json& item, const Json::json_pointer& at,
             const std::string& key) {
    const cel::Activation activation = evaluation_.ForItem(&item, key);
    if (rule.when) {
      BERTH_TRY(const bool wanted, evaluation_.Bool("podSets.when", *rule.when, activation));
      if (!wanted) return OkStatus();
    }
    PlacedPodSet placed;
    placed.rule = &rule;
    placed.item = &item;
    placed.key = key;
    placed.pod_template = PointerOf(at, rule.pod_template);
    const Json* pod_template = FindField(item, rule.pod_template);
    if (pod_template == nullptr) {
      return Invalid(FieldOf(placed.pod_template), "the pod template is missing");
    }
    Result<api::PodTemplate> decoded = api::Decode<api::PodTemplate>(*pod_template);
    if (!decoded) return Invalid(FieldOf(placed.pod_template), decoded.error().message);
    placed.pods.pod_template = *std::move(decoded);
    BERTH_TRY(placed.pods.name, evaluation_.Text("podSets.name", rule.name, activation));
    BERTH_CHECK_OK(CheckName(placed.pods.name));
    BERTH_TRY(placed.pods.count, evaluation_.Count("podSets.count", rule.count, activation));
    BERTH_CHECK_OK(AddTopology(rule, activation, placed.pods));
    for (const std::string& label : rule.dropped_labels) {
      placed.pods.pod_template.labels.erase(label);
    }
    out_.push_back(std::move(placed));
    return OkStatus();
  }

  // The rules of a Workload's pod sets, which its API would refuse otherwise.
  Status CheckName(const std::string& name) const {
    if (!IsDnsLabel(name) || name.size() > kMaxNameBytes) {
      return Invalid("podSets.name", "\"" + name + "\" is no DNS label of at most 63 characters");
    }
    const bool twice = std::any_of(out_.begin(), out_.end(), [&name](const PlacedPodSet& other) {
      return other.pods.name == name;
    });
    if (twice) return Invalid("podSets.name", "two pod sets are called \"" + name + "\"");
    if (out_.size() < kMaxPodSets) return OkStatus();
    return Invalid("podSets", "more than " + std::to_string(kMaxPodSets) + " pod sets");
  }

  Status AddTopology(const PodSetRule& rule, const cel::Activation& activation, api::PodSet& pods) {
    pods.topology_request = TopologyRequestOf(pods.pod_template.annotations);
    if (!pods.topology_request) return OkStatus();
    api::TopologyRequest& request = *pods.topology_request;
    if (!rule.pod_index_label.empty()) request.pod_index_label = rule.pod_index_label;
    if (!rule.sub_group_label.empty()) request.sub_group_index_label = rule.sub_group_label;
    if (rule.sub_group_count) {
      BERTH_TRY(request.sub_group_count, evaluation_.Count("podSets.topology.subGroupCount",
                                                           *rule.sub_group_count, activation));
    }
    return OkStatus();
  }

  const KindDescription& kind_;
  const Json& object_;
  Evaluation& evaluation_;
  std::vector<PlacedPodSet> out_;
};

Status ReadFinish(const KindDescription& kind, Evaluation& evaluation, JobView& view) {
  for (const FinishRule& rule : kind.finished) {
    BERTH_TRY(const bool over, evaluation.Bool("finished.when", rule.when, evaluation.base()));
    if (!over) continue;
    JobOutcome outcome;
    BERTH_TRY(outcome.succeeded,
              evaluation.Bool("finished.succeeded", rule.succeeded, evaluation.base()));
    BERTH_TRY(outcome.message,
              evaluation.Text("finished.message", rule.message, evaluation.base()));
    view.finished = std::move(outcome);
    break;
  }
  return OkStatus();
}

// Reads what can be read; returns the first error.
Status ReadState(const KindDescription& kind, Evaluation& evaluation, JobView& view) {
  Status status = ReadFinish(kind, evaluation, view);
  const auto read = [&](const char* field, const std::optional<cel::Program>& program, bool& out) {
    Result<bool> value = evaluation.Bool(field, program, false);
    if (value) {
      out = *value;
    } else if (status) {
      status = value.error();
    }
  };
  read("active", kind.active, view.active);
  read("ready", kind.ready, view.pods_ready);
  read("skip", kind.skip, view.skipped);
  if (!status || !kind.priority_class) return status;
  BERTH_TRY(view.priority_class,
            evaluation.Text("priorityClass", *kind.priority_class, evaluation.base()));
  return OkStatus();
}

Status ReadReclaimable(const KindDescription& kind, const std::vector<PlacedPodSet>& pod_sets,
                       Evaluation& evaluation, JobView& view) {
  if (!kind.reclaimable) return OkStatus();
  for (const PlacedPodSet& placed : pod_sets) {
    cel::Activation activation = evaluation.ForItem(placed.item, placed.key);
    activation.Set("podSet", Value::Map({{Value::String("name"), Value::String(placed.pods.name)},
                                         {Value::String("count"), Value::Int(placed.pods.count)}}));
    BERTH_TRY(const std::int32_t free,
              evaluation.Count("reclaimable", *kind.reclaimable, activation));
    if (free > 0) {
      view.reclaimable_pods.push_back({placed.pods.name, std::min(free, placed.pods.count)});
    }
  }
  return OkStatus();
}

Status ReadAll(const KindDescription& kind, const Json& object, JobView& view) {
  const Json* suspend = FindField(object, kind.suspend);
  if (suspend != nullptr && !suspend->is_boolean()) {
    return Invalid(TextOf(kind.suspend), "expected a bool");
  }
  view.suspended = IsSuspended(kind, object);
  Evaluation evaluation(object);
  // The state of a job counts although its pod sets cannot be read: it may run, or be over.
  Status state = ReadState(kind, evaluation, view);
  BERTH_TRY(const std::vector<PlacedPodSet> pod_sets,
            PodSetReader(kind, object, evaluation).Read());
  if (!state) return state;
  BERTH_CHECK_OK(ReadReclaimable(kind, pod_sets, evaluation, view));
  for (const PlacedPodSet& placed : pod_sets) view.pod_sets.push_back(placed.pods);
  return OkStatus();
}

// Sets `value` at `key`; an empty value removes the member.
void SetOrRemove(Json& object, const char* key, Json value) {
  if (value.empty()) {
    object.erase(key);
  } else {
    object[key] = std::move(value);
  }
}

Json& ObjectAt(Json& parent, const char* key) {
  Json& child = parent[key];
  if (!child.is_object()) child = Json::object();
  return child;
}

// The labels of the template that its Workload lacks.
api::StringMap DroppedLabels(const PodSetRule& rule, const Json& pod_template) {
  api::StringMap labels;
  for (const std::string& label : rule.dropped_labels) {
    const Json* value = FindField(pod_template, {"metadata", "labels", label});
    if (value != nullptr && value->is_string()) labels[label] = value->get<std::string>();
  }
  return labels;
}

// Gives the template the change's labels, annotations, node selector, tolerations and gates.
void WriteTemplate(const PodSetRule& rule, const PodSetChange& change, Json& pod_template) {
  api::StringMap labels = DroppedLabels(rule, pod_template);
  labels.insert(change.labels.begin(), change.labels.end());
  const auto metadata = pod_template.find("metadata");
  if (metadata != pod_template.end() || !labels.empty() || !change.annotations.empty()) {
    SetOrRemove(ObjectAt(pod_template, "metadata"), "labels", labels);
    SetOrRemove(ObjectAt(pod_template, "metadata"), "annotations", change.annotations);
    if (pod_template["metadata"].empty()) pod_template.erase("metadata");
  }
  Json& spec = ObjectAt(pod_template, "spec");
  SetOrRemove(spec, "nodeSelector", change.node_selector);
  Json tolerations = Json::array();
  for (const api::Toleration& each : change.tolerations) tolerations.push_back(api::Encode(each));
  SetOrRemove(spec, "tolerations", std::move(tolerations));
  Json gates = Json::array();
  for (const std::string& gate : change.scheduling_gates) gates.push_back({{"name", gate}});
  SetOrRemove(spec, "schedulingGates", std::move(gates));
}

// False where the object's pod sets are not those of the changes; nothing is written then.
bool WriteTemplates(const KindDescription& kind, const std::vector<PodSetChange>& changes,
                    Json& object) {
  const Json before = object;
  Evaluation evaluation(before);
  const Result<std::vector<PlacedPodSet>> pod_sets = PodSetReader(kind, before, evaluation).Read();
  if (!pod_sets || pod_sets->size() != changes.size()) return false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const PlacedPodSet& placed = (*pod_sets)[i];
    // A template inside another template may have gone with the other's fields.
    if (!object.contains(placed.pod_template)) continue;
    WriteTemplate(*placed.rule, changes[i], object.at(placed.pod_template));
  }
  return true;
}

}  // namespace

bool IsSuspended(const KindDescription& kind, const Json& object) {
  const Json* suspend = FindField(object, kind.suspend);
  return suspend != nullptr && suspend->is_boolean() && suspend->get<bool>();
}

void SetSuspended(const KindDescription& kind, bool suspended, Json& object) {
  Json* at = &object;
  for (std::size_t i = 0; i + 1 < kind.suspend.size(); ++i) {
    at = &ObjectAt(*at, kind.suspend[i].c_str());
  }
  (*at)[kind.suspend.back()] = suspended;
}

Result<std::vector<DescribedPodSet>> PodSetsOf(const KindDescription& kind, const Json& object) {
  Evaluation evaluation(object);
  BERTH_TRY(std::vector<PlacedPodSet> placed, PodSetReader(kind, object, evaluation).Read());
  std::vector<DescribedPodSet> pod_sets;
  for (PlacedPodSet& each : placed) {
    pod_sets.push_back({std::move(each.pods), FieldOf(each.pod_template)});
  }
  return pod_sets;
}

Result<JobView> ViewOf(const KindPtr& kind, const Json& object) {
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  JobView view;
  view.kind = &kind->kind;
  view.meta = std::move(meta);
  const Status read = ReadAll(*kind, object, view);
  if (!read) view.problem = read.error().message;
  return view;
}

Result<Json> Started(const KindDescription& kind, const Json& object,
                     const std::vector<PodSetChange>& changes) {
  Json started = object;
  if (!WriteTemplates(kind, changes, started)) {
    return Error{ErrorCode::kInvalid, "the job's pod sets are not those of its Workload"};
  }
  SetSuspended(kind, false, started);
  return started;
}

Json Stopped(const KindDescription& kind, const Json& object,
             const std::vector<PodSetChange>& originals) {
  Json stopped = object;
  if (!originals.empty()) WriteTemplates(kind, originals, stopped);
  SetSuspended(kind, true, stopped);
  return stopped;
}

}  // namespace berth::integrations
