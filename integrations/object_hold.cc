#include "integrations/object_hold.h"

#include <utility>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/held_jobs.h"
#include "api/pod_groups.h"
#include "integrations/described_pod_sets.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

Error Unfit(const std::string& field, const std::string& message) {
  return {ErrorCode::kInvalid, field + ": " + message};
}

class SuspendHold final : public ObjectHold {
 public:
  explicit SuspendHold(FieldPath path) : path_(std::move(path)) {}

  Status Check(const Json& object) const override {
    const Json* suspend = FindField(object, path_);
    if (suspend == nullptr || suspend->is_boolean()) return OkStatus();
    return Unfit(TextOf(path_), "expected a bool");
  }
  bool IsHeld(const Json& object) const override {
    const Json* suspend = FindField(object, path_);
    return suspend != nullptr && *suspend == true;
  }
  void Hold(Json& object) const override { Set(object, true); }
  void Release(Json& object) const override { Set(object, false); }

 private:
  void Set(Json& object, bool suspended) const {
    Json* at = &object;
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) at = &MakePart(*at, path_[i].c_str());
    (*at)[path_.back()] = suspended;
  }

  const FieldPath path_;
};

class ReplicasHold final : public ObjectHold {
 public:
  explicit ReplicasHold(std::vector<ReplicasField> fields) : fields_(std::move(fields)) {}

  Status Check(const Json& object) const override {
    const Json* text = Annotation(object);
    if (text != nullptr && !Kept(object).is_object()) {
      return Unfit(std::string("metadata.annotations[") + api::kHeldReplicasAnnotation + "]",
                   "expected the numbers of pods by field, as JSON");
    }
    const std::optional<Json> wanted = Wanted(object);
    const Json& seen = wanted ? *wanted : object;
    for (const Pointer& at : NumbersOf(seen)) {
      const Json& number = seen.contains(at) ? seen.at(at) : Json();
      const bool whole = number.is_number_unsigned() ||
                         (number.is_number_integer() && number.get<std::int64_t>() >= 0);
      if (!number.is_null() && !whole) return Unfit(FieldTextOf(at), "expected a number of pods");
    }
    return OkStatus();
  }

  bool IsHeld(const Json& object) const override {
    return Annotation(object) != nullptr && AllAreZero(object);
  }

  // A number that is 0 already keeps what its owner wants.
  void Hold(Json& object) const override {
    const Json kept = Kept(object);
    Json wanted = Json::object();
    for (const Pointer& at : NumbersOf(object)) {
      const std::string field = FieldTextOf(at);
      const bool keeps = IsZero(object, at) && kept.is_object() && kept.contains(field);
      wanted[field] = keeps ? kept[field] : object.contains(at) ? object.at(at) : Json();
      object[at] = 0;
    }
    Json& annotations = MakePart(MakePart(object, "metadata"), "annotations");
    annotations[api::kHeldReplicasAnnotation] = api::FormatJson(wanted);
  }

  // A number that is not 0 was set by the owner while the object was held.
  void Release(Json& object) const override {
    if (Annotation(object) == nullptr) return;
    const Json kept = Kept(object);
    for (const Pointer& at : NumbersOf(object)) {
      const std::string field = FieldTextOf(at);
      if (!IsZero(object, at) || !kept.is_object() || !kept.contains(field)) continue;
      if (kept[field].is_null()) {
        object.at(at.parent_pointer()).erase(at.back());
      } else {
        object[at] = kept[field];
      }
    }
    Json& annotations = object["metadata"]["annotations"];
    annotations.erase(api::kHeldReplicasAnnotation);
    if (annotations.empty()) object["metadata"].erase("annotations");
  }

  std::optional<Json> Wanted(const Json& object) const override {
    if (Annotation(object) == nullptr) return std::nullopt;
    Json wanted = object;
    Release(wanted);
    return wanted;
  }

  bool has_size() const override { return true; }
  bool IsLoose(const Json& object) const override {
    return Annotation(object) != nullptr && !AllAreZero(object);
  }

 private:
  // Null: the object is not held.
  static const Json* Annotation(const Json& object) {
    const Json* text = FindField(object, {"metadata", "annotations", api::kHeldReplicasAnnotation});
    return text != nullptr && text->is_string() ? text : nullptr;
  }
  // What the owner wants, by field; null where the annotation is no JSON.
  static Json Kept(const Json& object) {
    const Json* text = Annotation(object);
    return text == nullptr ? Json() : api::ParseJsonOrNull(text->get_ref<const std::string&>());
  }
  static bool IsZero(const Json& object, const Pointer& at) {
    return object.contains(at) && object.at(at).is_number() && object.at(at) == 0;
  }
  bool AllAreZero(const Json& object) const {
    for (const Pointer& at : NumbersOf(object)) {
      if (!IsZero(object, at)) return false;
    }
    return true;
  }

  std::vector<Pointer> NumbersOf(const Json& object) const {
    std::vector<Pointer> numbers;
    for (const ReplicasField& field : fields_) {
      if (field.each.empty()) {
        AddNumber(object, Pointer(), field.path, numbers);
        continue;
      }
      const Json* each = FindField(object, field.each);
      if (each == nullptr) continue;
      const Pointer at = PointerOf(Pointer(), field.each);
      for (std::size_t i = 0; field.keys.empty() && each->is_array() && i < each->size(); ++i) {
        AddNumber((*each)[i], at / i, field.path, numbers);
      }
      for (const std::string& key : field.keys) {
        const Json* member = FindField(*each, {key});
        if (member != nullptr) AddNumber(*member, at / key, field.path, numbers);
      }
    }
    return numbers;
  }
  static void AddNumber(const Json& item, const Pointer& at, const FieldPath& path,
                        std::vector<Pointer>& out) {
    const Json* parent = FindField(item, {path.begin(), path.end() - 1});
    if (parent != nullptr && parent->is_object()) out.push_back(PointerOf(at, path));
  }

  const std::vector<ReplicasField> fields_;
};

class PodsHold final : public ObjectHold {
 public:
  explicit PodsHold(std::string framework) : framework_(std::move(framework)) {}

  Status Check(const Json&) const override { return OkStatus(); }
  bool IsHeld(const Json& object) const override {
    const Json* parent =
        FindField(object, {"metadata", "annotations", api::kPodSuspendingParentAnnotation});
    return parent != nullptr && *parent == framework_;
  }
  // The annotation of an owner stays.
  void Hold(Json& object) const override {
    MakePart(MakePart(object, "metadata"), "annotations")
        .emplace(api::kPodSuspendingParentAnnotation, framework_);
  }
  void Release(Json&) const override {}  // pods are started one by one

 private:
  const std::string framework_;
};

class ParentHold final : public ObjectHold {
 public:
  Status Check(const Json&) const override { return OkStatus(); }
  bool IsHeld(const Json&) const override { return false; }
  void Hold(Json&) const override {}
  void Release(Json&) const override {}
};

}  // namespace

std::optional<Json> ObjectHold::Wanted(const Json&) const { return std::nullopt; }
bool ObjectHold::IsLoose(const Json&) const { return false; }

ObjectHoldPtr HoldBySuspend(FieldPath path) {
  return std::make_shared<const SuspendHold>(std::move(path));
}
ObjectHoldPtr HoldByReplicas(std::vector<ReplicasField> fields) {
  return std::make_shared<const ReplicasHold>(std::move(fields));
}
ObjectHoldPtr HoldByPods(std::string framework) {
  return std::make_shared<const PodsHold>(std::move(framework));
}
ObjectHoldPtr HoldByParent() { return std::make_shared<const ParentHold>(); }

}  // namespace berth::integrations
