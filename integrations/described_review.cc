#include "integrations/described_review.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "cel/value_json.h"
#include "integrations/described_job.h"
#include "integrations/described_pod_sets.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

std::string ShownText(const Json* value) {
  if (value == nullptr) return "null";
  return api::FormatJson(*value);
}

class ReviewOfObject {
 public:
  ReviewOfObject(const KindDescription& kind, const Json& object, const Json& old, bool elastic)
      : kind_(kind), object_(object), evaluation_(kind, object) {
    base_ = evaluation_.base();
    base_.Set("old", old.is_null() ? cel::Value() : cel::Value::View(old));
    base_.Set("elastic", cel::Value(elastic));
    base_.Set("item", cel::Value());
  }

  std::vector<ReviewError> Run() {
    for (const ReviewRule& rule : kind_.review.rules) {
      if (Apply(rule) && rule.stop) break;
    }
    return std::move(errors_);
  }

  bool IsTrue(const cel::Program& when) {
    const Result<bool> applies = evaluation_.Bool("review.when", when, base_);
    return applies && *applies;
  }

 private:
  bool Apply(const ReviewRule& rule) {
    if (rule.each.empty()) return Check(rule, object_, TextOf(rule.field), base_);
    const Json* list = FindField(object_, rule.each);
    if (list == nullptr || !list->is_array()) return false;
    bool applied = false;
    for (std::size_t i = 0; i < list->size(); ++i) {
      cel::Activation activation = base_;
      activation.Set("item", cel::Value::View((*list)[i]));
      const std::string field =
          TextOf(rule.at) + "[" + std::to_string(i) + "]." + TextOf(rule.field);
      applied = Check(rule, (*list)[i], field, activation) || applied;
    }
    return applied;
  }

  bool Check(const ReviewRule& rule, const Json& item, const std::string& field,
             const cel::Activation& activation) {
    const Result<bool> applies = evaluation_.Bool("review.when", rule.when, activation);
    if (!applies || !*applies) return false;
    const Result<std::string> message =
        evaluation_.Text("review.message", rule.message, activation);
    ReviewError error{rule.type, field, ShownText(FindField(item, rule.field)),
                      message ? *message : message.error().message};
    if (rule.value) {
      const Result<cel::Value> value = evaluation_.Run("review.value", *rule.value, activation);
      const Result<Json> shown = value ? cel::ToJson(*value) : Result<Json>(value.error());
      if (shown) error.value = ShownText(&*shown);
    }
    errors_.push_back(std::move(error));
    return true;
  }

  const KindDescription& kind_;
  const Json& object_;
  Evaluation evaluation_;
  cel::Activation base_;
  std::vector<ReviewError> errors_;
};

// Adds the annotation to the template, unless the template has it.
void AddAnnotation(const KindDescription& kind, const DefaultRule& rule, Json& object) {
  const auto pod_sets = PodSetsOf(kind, object);
  if (!pod_sets) return;
  for (const DescribedPodSet& each : *pod_sets) {
    const Json::json_pointer pointer(each.pointer);
    if (each.pods.name != rule.pod_set || !object.contains(pointer)) continue;
    Json& pod_template = object.at(pointer);
    MakePart(MakePart(pod_template, "metadata"), "annotations")
        .emplace(rule.annotation, rule.value);
  }
}

}  // namespace

std::vector<ReviewError> ReviewErrors(const KindDescription& kind, const Json& object,
                                      const Json& old, bool elastic) {
  const WantedObject wanted(*kind.held_by, object);
  const WantedObject before(*kind.held_by, old);
  return ReviewOfObject(kind, *wanted, *before, elastic).Run();
}

void AddDefaults(const KindDescription& kind, bool queued, Json& object) {
  if (kind.hook != nullptr && kind.hook->create != nullptr) kind.hook->create(object);
  if (!queued) return;
  for (const DefaultRule& rule : kind.review.defaults) {
    const Json before = *WantedObject(*kind.held_by, object);
    if (ReviewOfObject(kind, before, Json(), false).IsTrue(rule.when)) {
      AddAnnotation(kind, rule, object);
    }
  }
}

bool IsSkipped(const KindDescription& kind, const Json& object) {
  if (IsDelegated(kind, object)) return true;
  if (!kind.skip) return false;
  const WantedObject wanted(*kind.held_by, object);
  Evaluation evaluation(kind, *wanted);
  const Result<bool> skipped = evaluation.Bool("skip", kind.skip, false);
  return skipped && *skipped;
}

}  // namespace berth::integrations
