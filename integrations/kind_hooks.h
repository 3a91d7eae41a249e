// integrations/kind_hooks.h — the rules of single kinds that a description cannot say. A
// description names them (`hook`, `podSets[].hook`); each has a file in hooks/, and a row in
// kind_hooks.cc.
//
// A new kind needs a hook only where its pods are not described by pod templates in the object.
//
// Threads: pure functions. Errors: kInvalid with the path of the object's field.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/job_view.h"

namespace berth::integrations {

// The objects that a description reads beside the job, in the order of its `reads`; null: absent.
using ReadObjects = std::vector<std::shared_ptr<const nlohmann::json>>;

// The template that the Workload gets. `pod_template`: null where the object has none; a start then
// writes the returned template into the object.
using TemplateHook = Result<nlohmann::json> (*)(const nlohmann::json& object,
                                                const nlohmann::json* pod_template);

// The target of a start for one pod set.
struct HookedPodSet {
  PodSetChange wanted;
  PodSetChange original;  // the pod set as the object describes it
};

struct KindHook {
  // The tree in which `podSets` has its paths; the variable `expanded` of expressions. An item with
  // the text `field` names the field of the object that its template comes from.
  Result<nlohmann::json> (*expand)(const nlohmann::json& object, const ReadObjects& reads);
  // Writes a start's additions into the object; the field that holds the job is not touched.
  Status (*start)(const std::vector<HookedPodSet>& pod_sets, nlohmann::json& object);
  // Takes a start's additions out of the object. Empty `originals`: the pod sets of the Workload
  // are not known.
  void (*stop)(const std::vector<PodSetChange>& originals, nlohmann::json& object);
  // Whether the object has additions of a start; null: the pod sets show whether it has.
  bool (*is_started)(const nlohmann::json& object) = nullptr;
  // Adds the defaults of a review to each new object, queued or not; null: there are none.
  void (*create)(nlohmann::json& object) = nullptr;
  // The additions are written while the job is held, before the write that releases it; and taken
  // out when none of its pods is left.
  bool only_while_held = false;
  // Set if the pod templates are in an object that is read: the advice that a review adds to errors
  // about their topology annotations. Null: the templates are in the job.
  const char* topology_advice = nullptr;
};

// Null: no such hook.
const KindHook* FindKindHook(std::string_view name);
TemplateHook FindTemplateHook(std::string_view name);

// The additions of `wanted` to `original`.
PodSetChange AdditionsOf(const HookedPodSet& pods);

// The labels … gates of `change` as the fields of a pod: {labels, annotations, nodeSelector,
// tolerations, schedulingGates}; empty ones are left out.
nlohmann::json FieldsOf(const PodSetChange& change);

}  // namespace berth::integrations
