// integrations/described_pod_sets.h — the expressions of a description on one object, and the pod
// sets that the object has by it. For described_job.cc and described_review.cc.
//
// Threads: one at a time for an Evaluation, which counts the work of its expressions. The object
// outlives it. Errors: kInvalid with the field of the description or the object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cel/program.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// The evaluation of one object's expressions. They share one budget.
class Evaluation {
 public:
  // `reads`: what the kind reads beside the object; objects that are missing at the end of the list
  // are absent.
  Evaluation(const KindDescription& kind, const nlohmann::json& object,
             const ReadObjects& reads = {});

  // Sets the variable `expanded`: the tree that the kind's hook has made of the object.
  void Expand(const nlohmann::json& expanded);

  const cel::Activation& base() const { return base_; }
  cel::Activation ForItem(const nlohmann::json* item, const std::string& key) const;

  Result<bool> Bool(const char* field, const cel::Program& program,
                    const cel::Activation& activation);
  // An absent program gives `fallback`.
  Result<bool> Bool(const char* field, const std::optional<cel::Program>& program, bool fallback) {
    return program ? Bool(field, *program, base_) : Result<bool>(fallback);
  }
  Result<std::string> Text(const char* field, const cel::Program& program,
                           const cel::Activation& activation);
  Result<std::int32_t> Count(const char* field, const cel::Program& program,
                             const cel::Activation& activation);
  Result<cel::Value> Run(const char* field, const cel::Program& program,
                         const cel::Activation& activation);

 private:
  cel::Activation base_;
  std::uint64_t budget_ = cel::Limits{}.cost;
};

// One pod set of an object, with the place of its template.
struct PlacedPodSet {
  api::JobPodSet pods;
  std::string pointer;  // to the template in the tree, as in RFC 6901
  std::string field;    // the template's field of the object: "spec.jobs[0].template"
  const PodSetRule* rule = nullptr;
  const nlohmann::json* item = nullptr;
  std::string key;
  std::shared_ptr<const nlohmann::json>
      made;                   // the template, if the object has none; null: it has one
  api::StringMap pod_labels;  // PodHold: labels of the pod set's pods
  std::string number;         // pointer to the number of pods that holds the pod set; empty: none
};

// `tree`: the object, or what the kind's hook has made of it.
Result<std::vector<PlacedPodSet>> ReadPodSets(const KindDescription& kind,
                                              const nlohmann::json& object,
                                              const nlohmann::json& tree, Evaluation& evaluation);

// The pod set of one object of PodHold::groups.
Result<PlacedPodSet> ReadGroupPodSet(const PodHold::Groups& rule, const nlohmann::json& group,
                                     Evaluation& evaluation);

// Null where the path leads to nothing, or to null.
const nlohmann::json* FindField(const nlohmann::json& object, const FieldPath& path);
std::string TextOf(const FieldPath& path);  // "spec.suspend"
nlohmann::json::json_pointer PointerOf(nlohmann::json::json_pointer base, const FieldPath& path);
// "/spec/jobs/0/template" as "spec.jobs[0].template".
std::string FieldTextOf(nlohmann::json::json_pointer pointer);

}  // namespace berth::integrations
