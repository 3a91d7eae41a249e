#include "integrations/described_pod_sets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/workload_limits.h"
#include "base/dns_names.h"
#include "cel/value_text.h"
#include "integrations/template_topology.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using cel::Value;

constexpr std::size_t kMaxConditions = 256;
constexpr std::size_t kMaxNameBytes = 63;

Error InvalidAt(const std::string& at, const std::string& message) {
  return {ErrorCode::kInvalid, at + ": " + message};
}

// The first of several conditions of one type counts.
void AddCondition(const Json& condition, std::map<std::string_view, bool>& states) {
  if (!condition.is_object() || states.size() >= kMaxConditions) return;
  const auto type = condition.find("type");
  const auto status = condition.find("status");
  if (type == condition.end() || status == condition.end() || !type->is_string()) return;
  states.emplace(type->get_ref<const std::string&>(), *status == "True");
}

Status AddPodLabels(const std::vector<PodLabelRule>& rules, const cel::Activation& activation,
                    Evaluation& evaluation, PlacedPodSet& placed) {
  for (const PodLabelRule& rule : rules) {
    BERTH_TRY(placed.pod_labels[rule.label],
              evaluation.Text("podSets.pods", rule.value, activation));
  }
  return OkStatus();
}

// A Workload's API would refuse other names.
Status CheckPodSetName(const std::string& name) {
  if (IsDnsLabel(name) && name.size() <= kMaxNameBytes) return OkStatus();
  return InvalidAt("podSets.name", "\"" + name + "\" is no DNS label of at most 63 characters");
}

class PodSetReader {
 public:
  PodSetReader(const KindDescription& kind, const Json& object, const Json& tree,
               Evaluation& evaluation)
      : kind_(kind), object_(object), tree_(tree), evaluation_(evaluation) {}

  Result<std::vector<PlacedPodSet>> Read() {
    for (const PodSetRule& rule : kind_.pod_sets) {
      if (rule.each.empty()) {
        BERTH_CHECK_OK(Add(rule, tree_, Json::json_pointer(), ""));
        continue;
      }
      const Json* each = FindField(tree_, rule.each);
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
    if (!map.is_object()) return InvalidAt(TextOf(rule.each), "expected an object");
    for (const std::string& key : rule.keys) {
      const auto found = map.find(key);
      if (found == map.end() || found->is_null()) continue;
      BERTH_CHECK_OK(Add(rule, *found, at / key, key));
    }
    return OkStatus();
  }

  Status AddItems(const PodSetRule& rule, const Json& list, const Json::json_pointer& at) {
    if (!list.is_array()) return InvalidAt(TextOf(rule.each), "expected a list");
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
    const Json::json_pointer pointer = PointerOf(at, rule.pod_template);
    placed.pointer = pointer.to_string();
    placed.field = FieldTextOf(pointer);
    if (!rule.replicas.empty()) placed.number = PointerOf(at, rule.replicas).to_string();
    if (kind_.hook != nullptr) TakeField(item, placed);
    BERTH_CHECK_OK(ReadTemplate(item, placed));
    BERTH_TRY(placed.pods.name, evaluation_.Text("podSets.name", rule.name, activation));
    BERTH_CHECK_OK(CheckName(placed.pods.name));
    BERTH_TRY(placed.pods.count, evaluation_.Count("podSets.count", rule.count, activation));
    BERTH_CHECK_OK(AddTopology(rule, item, activation, placed.pods));
    BERTH_CHECK_OK(AddPodLabels(rule.pods, activation, evaluation_, placed));
    DropMetadata(rule, placed.pods.pod_template);
    out_.push_back(std::move(placed));
    return OkStatus();
  }

  // The metadata that the Workload must not have: it differs from object to object.
  static void DropMetadata(const PodSetRule& rule, api::PodTemplateFields& pods) {
    for (const std::string& label : rule.dropped_labels) pods.labels.erase(label);
    if (rule.spec_only) {
      pods.labels.clear();
      pods.annotations.clear();
    }
    if (rule.dropped_prefix.empty()) return;
    const auto& kept = rule.kept_labels;
    std::erase_if(pods.labels, [&](const auto& label) {
      return label.first.starts_with(rule.dropped_prefix) &&
             std::find(kept.begin(), kept.end(), label.first) == kept.end();
    });
    std::erase_if(pods.annotations, [&](const auto& annotation) {
      return annotation.first.starts_with(rule.dropped_prefix);
    });
  }

  // An expansion names the object's field itself.
  static void TakeField(const Json& item, PlacedPodSet& placed) {
    const Json* at = &item;
    if (placed.rule->each.empty() && placed.rule->pod_template.size() > 1) {
      at = FindField(item, {placed.rule->pod_template.front()});
    }
    const Json* field = at == nullptr ? nullptr : FindField(*at, {"field"});
    if (field != nullptr && field->is_string()) placed.field = field->get<std::string>();
  }

  Status ReadTemplate(const Json& item, PlacedPodSet& placed) {
    const Json* pod_template = FindField(item, placed.rule->pod_template);
    std::shared_ptr<const Json> changed;
    if (placed.rule->hook != nullptr) {
      BERTH_TRY(Json made, placed.rule->hook(object_, pod_template));
      changed = std::make_shared<const Json>(std::move(made));
      if (pod_template == nullptr) placed.made = changed;
      pod_template = changed.get();
    }
    if (pod_template == nullptr) return InvalidAt(placed.field, "the pod template is missing");
    Result<api::PodTemplate> decoded = api::Decode<api::PodTemplate>(*pod_template);
    if (!decoded) return InvalidAt(placed.field, decoded.error().message);
    placed.pods.Take(*std::move(decoded));
    return OkStatus();
  }

  // The rules of a Workload's pod sets, which its API would refuse otherwise.
  Status CheckName(const std::string& name) const {
    BERTH_CHECK_OK(CheckPodSetName(name));
    const bool twice = std::any_of(out_.begin(), out_.end(), [&name](const PlacedPodSet& other) {
      return other.pods.name == name;
    });
    if (twice) return InvalidAt("podSets.name", "two pod sets are called \"" + name + "\"");
    if (out_.size() < api::kMaxPodSets) return OkStatus();
    return InvalidAt("podSets", "more than " + std::to_string(api::kMaxPodSets) + " pod sets");
  }

  Status AddTopology(const PodSetRule& rule, const Json& item, const cel::Activation& activation,
                     api::PodSet& pods) {
    pods.topology_request = TopologyRequestOf(pods.pod_template.annotations);
    // An index label alone makes a request, as it does in Kueue: where all flavors of the queue
    // have a topology, pods without annotations are placed by rank, too.
    api::TopologyRequest request = pods.topology_request.value_or(api::TopologyRequest{});
    if (!rule.pod_index_label.empty()) request.pod_index_label = rule.pod_index_label;
    if (!rule.sub_group_label.empty()) request.sub_group_index_label = rule.sub_group_label;
    if (rule.sub_group_count) {
      BERTH_TRY(request.sub_group_count, evaluation_.Count("podSets.topology.subGroupCount",
                                                           *rule.sub_group_count, activation));
    }
    if (kind_.hook != nullptr) TakeTopology(item, request);
    if (pods.topology_request || request.pod_index_label) {
      pods.topology_request = std::move(request);
    }
    return OkStatus();
  }

  // The labels may differ from item to item of an expansion.
  static void TakeTopology(const Json& item, api::TopologyRequest& request) {
    const auto text = [&item](const char* key) -> std::optional<std::string> {
      const Json* found = FindField(item, {key});
      if (found == nullptr || !found->is_string() || found->get_ref<const std::string&>().empty()) {
        return std::nullopt;
      }
      return found->get<std::string>();
    };
    if (auto label = text("podIndexLabel")) request.pod_index_label = *std::move(label);
    if (auto label = text("subGroupLabel")) request.sub_group_index_label = *std::move(label);
    const Json* count = FindField(item, {"subGroupCount"});
    if (count == nullptr || !count->is_number_integer()) return;
    const auto groups = count->get<std::int64_t>();
    if (groups > 0 && groups <= std::numeric_limits<std::int32_t>::max()) {
      request.sub_group_count = static_cast<std::int32_t>(groups);
    }
  }

  const KindDescription& kind_;
  const Json& object_;
  const Json& tree_;
  Evaluation& evaluation_;
  std::vector<PlacedPodSet> out_;
};

}  // namespace

Evaluation::Evaluation(const KindDescription& kind, const Json& object, const ReadObjects& reads) {
  base_.Set("self", Value::View(object));
  cel::Values read(kind.reads.size());
  for (std::size_t i = 0; i < read.size() && i < reads.size(); ++i) {
    if (reads[i] != nullptr) read[i] = Value::View(*reads[i]);
  }
  base_.Set("reads", Value::List(std::move(read)));
  std::map<std::string_view, bool> states;
  if (const Json* conditions = FindField(object, {"status", "conditions"});
      conditions != nullptr && conditions->is_array()) {
    for (const Json& each : *conditions) AddCondition(each, states);
  }
  cel::Entries entries;
  for (const auto& [type, is_true] : states) {
    entries.emplace_back(Value::ViewText(type), Value(is_true));
  }
  base_.Set("conditions", Value::Map(std::move(entries)));
}

void Evaluation::Expand(const Json& expanded) { base_.Set("expanded", Value::View(expanded)); }

cel::Activation Evaluation::ForItem(const Json* item, const std::string& key) const {
  cel::Activation activation = base_;
  activation.Set("item", item == nullptr ? Value() : Value::View(*item));
  activation.Set("key", Value::String(key));
  return activation;
}

Result<Value> Evaluation::Run(const char* field, const cel::Program& program,
                              const cel::Activation& activation) {
  Result<Value> value = program.Evaluate(activation, budget_);
  if (!value) return InvalidAt(field, value.error().message);
  return value;
}

Result<bool> Evaluation::Bool(const char* field, const cel::Program& program,
                              const cel::Activation& activation) {
  BERTH_TRY(const Value value, Run(field, program, activation));
  if (value.is(cel::Kind::kBool)) return value.AsBool();
  return InvalidAt(field, "expected a bool, got " + std::string(cel::TypeName(value)));
}

Result<std::string> Evaluation::Text(const char* field, const cel::Program& program,
                                     const cel::Activation& activation) {
  BERTH_TRY(const Value value, Run(field, program, activation));
  if (value.is(cel::Kind::kString)) return std::string(value.AsText());
  return InvalidAt(field, "expected a string, got " + std::string(cel::TypeName(value)));
}

Result<std::int32_t> Evaluation::Count(const char* field, const cel::Program& program,
                                       const cel::Activation& activation) {
  BERTH_TRY(const Value value, Run(field, program, activation));
  const std::optional<std::int64_t> whole = cel::WholeNumber(value);
  if (whole && *whole >= 0 && *whole <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(*whole);
  }
  return InvalidAt(field, "expected a number of pods, got " + cel::ToText(value));
}

Result<std::vector<PlacedPodSet>> ReadPodSets(const KindDescription& kind, const Json& object,
                                              const Json& tree, Evaluation& evaluation) {
  return PodSetReader(kind, object, tree, evaluation).Read();
}

Result<PlacedPodSet> ReadGroupPodSet(const PodHold::Groups& rule, const Json& group,
                                     Evaluation& evaluation) {
  const cel::Activation activation = evaluation.ForItem(&group, "");
  PlacedPodSet placed;
  placed.field = TextOf(rule.pod_template);
  const Json* pod_template = FindField(group, rule.pod_template);
  if (pod_template == nullptr) {
    return InvalidAt(placed.field, "the pod template of the group is missing");
  }
  BERTH_TRY(api::PodTemplate decoded, api::Decode<api::PodTemplate>(*pod_template));
  placed.pods.Take(std::move(decoded));
  BERTH_TRY(placed.pods.name, evaluation.Text("groups.podSet", rule.pod_set, activation));
  BERTH_CHECK_OK(CheckPodSetName(placed.pods.name));
  BERTH_TRY(placed.pods.count, evaluation.Count("groups.count", rule.count, activation));
  BERTH_CHECK_OK(AddPodLabels(rule.pods, activation, evaluation, placed));
  return placed;
}

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

std::string FieldTextOf(Json::json_pointer pointer) {
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

std::string TextOf(const FieldPath& path) {
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return text;
}

}  // namespace berth::integrations
