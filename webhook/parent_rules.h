// webhook/parent_rules.h — reviews of objects whose pods are held by their gates (PodsRule of
// integrations/kind_description.h).
//
//     CREATE, UPDATE of a queued object: its pods' metadata gets the annotation
//     pod-suspending-parent and, as the kind says, labels and the annotation pod-group-serving
//
// The pods' own review (pod_rules.h) gates each pod that has the annotation. An object whose pods
// carry the annotation of another framework is left to that framework.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/{deployment,statefulset,
// leaderworkerset}; the texts are Kueue's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "webhook/job_rules.h"

namespace berth::webhook {

// The marks that a review writes, and the kind's own rules.
struct ParentMarks {
  using Keys = std::vector<std::string>;
  // "spec", "template", "metadata"; left out where the parent is missing.
  std::vector<Keys> metadata;
  bool labels = false;   // queue-name and priority-class
  bool managed = false;  // label managed
  bool serving = false;  // annotation pod-group-serving
  // Adds further defaults to a queued object; null: there are none.
  std::function<void(nlohmann::json& object)> more;
  // The errors of the kind alone. `old`: null on create.
  std::function<FieldErrors(const nlohmann::json& object, const nlohmann::json& old,
                            const ReviewedJob& job, const JobFacts& facts)>
      own;
};

// `kind`: complete but for the rules; `kind.read` reads whether the object is suspended: it has no
// ready pods.
ReviewedKind ParentKind(ReviewedKind kind, ParentMarks marks);

// The rules of the built-in parents, by framework; a framework that has none gets `marks` as it is.
void AddServingRules(const std::string& framework, ParentMarks& marks);

}  // namespace berth::webhook
