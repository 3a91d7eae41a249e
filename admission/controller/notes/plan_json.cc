#include "admission/controller/notes/plan_json.h"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;

constexpr api::JsonLimits kPlanLimits{.max_depth = 8, .max_values = 8192};
constexpr int kMostPauses = 1000;

// Each function returns false where `key` has another type, or is missing although it is
// required.
bool ReadText(const Json& object, const char* key, std::string& text) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  text = found->get<std::string>();
  return true;
}

bool ReadTime(const Json& object, const char* key, WallTime& time) {
  std::string text;
  if (!ReadText(object, key, text)) return false;
  const std::optional<WallTime> read = ParseTime(text);
  if (read) time = *read;
  return read.has_value();
}

template <typename Integer>
bool AsInteger(const Json& value, Integer most, Integer& number) {
  if (!value.is_number_integer() || value < 0 || value > most) return false;
  number = value.get<Integer>();
  return true;
}

template <typename Integer>
bool ReadInteger(const Json& object, const char* key, Integer most, Integer& number) {
  const auto found = object.find(key);
  return found != object.end() && AsInteger(*found, most, number);
}

bool ReadFlavors(const Json& item, api::StringMap& flavors) {
  const auto found = item.find("flavors");
  if (found == item.end() || !found->is_object()) return false;
  for (const auto& [resource, flavor] : found->items()) {
    if (!flavor.is_string()) return false;
    flavors[resource] = flavor.get<std::string>();
  }
  return true;
}

bool ReadUsage(const Json& item, KeptPlan::Victim& victim) {
  const auto found = item.find("usage");
  if (found == item.end() || !found->is_object()) return false;
  for (const auto& [flavor, amounts] : found->items()) {
    if (!amounts.is_object()) return false;
    for (const auto& [resource, amount] : amounts.items()) {
      const api::Amount most = std::numeric_limits<api::Amount>::max();
      if (!AsInteger(amount, most, victim.usage[flavor][resource])) return false;
    }
  }
  return true;
}

bool ReadPodSet(const Json& item, KeptPlan::PodSet& pod_set) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  return item.is_object() && ReadText(item, "name", pod_set.name) &&
         ReadInteger(item, "count", kMost, pod_set.count) && ReadFlavors(item, pod_set.flavors);
}

bool ReadVictim(const Json& item, KeptPlan::Victim& victim) {
  return item.is_object() && ReadText(item, "uid", victim.uid) &&
         ReadText(item, "clusterQueue", victim.cluster_queue) && ReadUsage(item, victim);
}

bool ReadPlan(const Json& object, KeptPlan& plan) {
  const auto pod_sets = object.find("podSets");
  if (pod_sets == object.end()) return true;
  const auto victims = object.find("victims");
  if (!pod_sets->is_array() || victims == object.end() || !victims->is_array() ||
      victims->size() > KeptPlan::kMostVictims || !ReadTime(object, "progress", plan.progress_at)) {
    return false;
  }
  for (const Json& item : *pod_sets) {
    if (!ReadPodSet(item, plan.pod_sets.emplace_back())) return false;
  }
  for (const Json& item : *victims) {
    if (!ReadVictim(item, plan.victims.emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::string EncodePlan(const KeptPlan& plan) {
  Json object = {{"generation", plan.generation},
                 {"clusterQueue", plan.cluster_queue},
                 {"waitingSince", FormatTime(plan.waiting_since)}};
  if (plan.pauses > 0) {
    object["pauses"] = plan.pauses;
    object["pausedUntil"] = FormatTime(plan.paused_until);
  }
  if (!plan.pod_sets.empty()) {
    object["progress"] = FormatTime(plan.progress_at);
    Json& pod_sets = object["podSets"] = Json::array();
    for (const KeptPlan::PodSet& pod_set : plan.pod_sets) {
      pod_sets.push_back(
          {{"name", pod_set.name}, {"count", pod_set.count}, {"flavors", pod_set.flavors}});
    }
    Json& victims = object["victims"] = Json::array();
    for (const KeptPlan::Victim& victim : plan.victims) {
      victims.push_back(
          {{"uid", victim.uid}, {"clusterQueue", victim.cluster_queue}, {"usage", victim.usage}});
    }
  }
  return api::FormatJson(object);
}

std::optional<KeptPlan> DecodePlan(std::string_view text) {
  if (text.size() > kMaxPlanBytes) return std::nullopt;
  const Json object = api::ParseJsonOrNull(text, kPlanLimits);
  if (!object.is_object()) return std::nullopt;
  KeptPlan plan;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (!ReadInteger(object, "generation", most, plan.generation) ||
      !ReadText(object, "clusterQueue", plan.cluster_queue) ||
      !ReadTime(object, "waitingSince", plan.waiting_since) || !ReadPlan(object, plan)) {
    return std::nullopt;
  }
  if (object.contains("pauses") && (!ReadInteger(object, "pauses", kMostPauses, plan.pauses) ||
                                    !ReadTime(object, "pausedUntil", plan.paused_until))) {
    return std::nullopt;
  }
  return plan;
}

}  // namespace berth::admission
