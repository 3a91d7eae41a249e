#include "webhook/topology_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/slice_constraints.h"
#include "api/labels.h"
#include "base/strings.h"

namespace berth::webhook {
namespace {

using api::TopologyRequest;

constexpr std::size_t kMaxLayers = 3;

std::string Unless(const char* key) {
  return "may not be set when '" + std::string(key) + "' is specified";
}

// The annotations of one pod template.
class TopologyRules {
 public:
  TopologyRules(const Path& path, const api::StringMap& annotations, std::int64_t pods)
      : path_(path), annotations_(annotations), pods_(pods) {}

  FieldErrors Run() {
    CheckOneOnly();
    for (const char* key : {api::kRequiredTopologyAnnotation, api::kPreferredTopologyAnnotation,
                            api::kSliceRequiredTopologyAnnotation}) {
      if (const std::string* level = Find(key)) CheckLevel(At(key), *level);
    }
    CheckUnconstrained();
    CheckSlices();
    CheckLayers();
    CheckGroup();
    return std::move(errors_);
  }

 private:
  const std::string* Find(const char* key) const { return api::FindValue(annotations_, key); }
  bool Has(const char* key) const { return Find(key) != nullptr; }
  Path At(const char* key) const { return path_.Key(key); }
  void Add(std::string error) { errors_.push_back(std::move(error)); }

  void CheckLevel(const Path& at, const std::string& level) {
    if (const std::string problem = QualifiedNameProblem(level); !problem.empty()) {
      Add(Invalid(at, Quoted(level), problem));
    }
  }

  void CheckOneOnly() {
    const std::array<const char*, 3> keys{api::kRequiredTopologyAnnotation,
                                          api::kPreferredTopologyAnnotation,
                                          api::kUnconstrainedTopologyAnnotation};
    const auto asked =
        std::count_if(keys.begin(), keys.end(), [this](const char* key) { return Has(key); });
    if (asked < 2) return;
    std::vector<std::string> names;
    for (const char* key : keys) names.push_back(Quoted(key));
    Add(Invalid(path_, "",
                "must not contain more than one topology annotation: [" + Join(names, ", ") + "]"));
  }

  void CheckUnconstrained() {
    constexpr std::array<std::string_view, 12> kBooleans{"1", "t", "T", "true",  "TRUE",  "True",
                                                         "0", "f", "F", "false", "FALSE", "False"};
    const std::string* value = Find(api::kUnconstrainedTopologyAnnotation);
    if (value == nullptr ||
        std::find(kBooleans.begin(), kBooleans.end(), *value) != kBooleans.end()) {
      return;
    }
    Add(Invalid(At(api::kUnconstrainedTopologyAnnotation), Quoted(*value),
                "must be a boolean value"));
  }

  void CheckSlices() {
    const Path at = At(api::kSliceSizeAnnotation);
    const std::string* size = Find(api::kSliceSizeAnnotation);
    const bool has_level = Has(api::kSliceRequiredTopologyAnnotation);
    const std::string level_name = api::kSliceRequiredTopologyAnnotation;
    if (size != nullptr && !has_level) {
      Add(Forbidden(at, "may not be set when '" + level_name + "' is not specified"));
    }
    if (size == nullptr && has_level) {
      Add(Required(at, "must be set when '" + level_name + "' is specified"));
    }
    if (size == nullptr) return;
    const std::optional<std::int64_t> pods = ParseInt64(*size);
    if (!pods || *pods > INT32_MAX || *pods < INT32_MIN) {
      Add(Invalid(at, Quoted(*size), "must be a numeric value"));
    } else if (*pods < 1) {
      Add(Invalid(at, Quoted(*size), "must be greater than or equal to 1"));
    } else if (*pods > pods_) {
      Add(Invalid(at, Quoted(*size), TooLarge()));
    }
  }

  std::string TooLarge() const {
    return "must not be greater than pod set count " + std::to_string(pods_);
  }

  void CheckLayers() {
    const std::string* text = Find(api::kSliceConstraintsAnnotation);
    if (text == nullptr) return;
    const Path at = At(api::kSliceConstraintsAnnotation);
    for (const char* key : {api::kSliceRequiredTopologyAnnotation, api::kSliceSizeAnnotation}) {
      if (Has(key)) Add(Forbidden(at, Unless(key)));
    }
    const auto layers = api::ParseSliceConstraints(*text);
    if (!layers) {
      return Add(
          Invalid(at, Quoted(*text), "must be a valid JSON array: " + layers.error().message));
    }
    if (layers->empty() || layers->size() > kMaxLayers) {
      return Add(Invalid(at, Quoted(*text), "must have between 1 and 3 layers"));
    }
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < layers->size(); ++i) {
      const TopologyRequest::SliceConstraint& layer = (*layers)[i];
      CheckLevel(at.Index(i).Child("topology"), layer.topology);
      if (layer.size < 1) {
        Add(Invalid(at.Index(i).Child("size"), std::to_string(layer.size),
                    "must be greater than or equal to 1"));
      }
      const auto [first, is_new] = seen.emplace(layer.topology, i);
      if (!is_new) {
        Add(Duplicate(at.Index(i).Child("topology"), Quoted(layer.topology + " (also at index " +
                                                            std::to_string(first->second) + ")")));
      }
      if (i > 0 && layer.size > 0 && (*layers)[i - 1].size % layer.size != 0) {
        Add(Invalid(
            at.Index(i).Child("size"), std::to_string(layer.size),
            "must evenly divide the parent layer size " + std::to_string((*layers)[i - 1].size)));
      }
    }
    if (layers->front().size > pods_) {
      Add(Invalid(at, std::to_string(layers->front().size), TooLarge()));
    }
  }

  void CheckGroup() {
    const std::string* group = Find(api::kPodSetGroupNameAnnotation);
    if (group == nullptr) return;
    const Path at = At(api::kPodSetGroupNameAnnotation);
    if (!group->empty() &&
        std::all_of(group->begin(), group->end(), [](char c) { return c >= '0' && c <= '9'; })) {
      Add(Invalid(at, Quoted(*group), "must not be a number"));
    }
    for (const char* key : {api::kSliceSizeAnnotation, api::kSliceRequiredTopologyAnnotation,
                            api::kSliceConstraintsAnnotation}) {
      if (Has(key)) Add(Forbidden(at, Unless(key)));
    }
    if (!Has(api::kRequiredTopologyAnnotation) && !Has(api::kPreferredTopologyAnnotation)) {
      Add(Forbidden(at, "may not be set when neither '" +
                            std::string(api::kPreferredTopologyAnnotation) + "' nor '" +
                            api::kRequiredTopologyAnnotation + "' is specified"));
    }
  }

  const Path& path_;
  const api::StringMap& annotations_;
  const std::int64_t pods_;
  FieldErrors errors_;
};

}  // namespace

FieldErrors ValidateTopologyAnnotations(const Path& path, const api::StringMap& annotations,
                                        std::int64_t pods) {
  return TopologyRules(path, annotations, pods).Run();
}

FieldErrors ValidatePodSetGroups(const std::vector<GroupedPodSet>& pod_sets) {
  std::map<std::string, std::vector<const GroupedPodSet*>> groups;
  for (const GroupedPodSet& pods : pod_sets) {
    const std::string* name = api::FindValue(pods.annotations, api::kPodSetGroupNameAnnotation);
    if (name != nullptr) groups[*name].push_back(&pods);
  }
  FieldErrors errors;
  for (const auto& [name, members] : groups) {
    const auto add = [&errors, &members = members, &name = name](const std::string& detail) {
      for (const GroupedPodSet* pods : members) {
        errors.push_back(
            Invalid(pods->path.Key(api::kPodSetGroupNameAnnotation), Quoted(name), detail));
      }
    };
    if (members.size() != 2) {
      add("can only define groups of exactly 2 pod sets, got: " + std::to_string(members.size()) +
          " pod set(s)");
      continue;
    }
    const GroupedPodSet& one = *members[0];
    const GroupedPodSet& other = *members[1];
    if (one.pods != 1 && other.pods != 1) {
      add("can only define groups where at least one pod set has only 1 replica, got: " +
          std::to_string(one.pods) + " replica(s) and " + std::to_string(other.pods) +
          " replica(s) in the group");
    }
    for (const char* key : {api::kRequiredTopologyAnnotation, api::kPreferredTopologyAnnotation}) {
      const std::string* a = api::FindValue(one.annotations, key);
      const std::string* b = api::FindValue(other.annotations, key);
      if ((a == nullptr) != (b == nullptr) || (a != nullptr && *a != *b)) {
        add("must have the same '" + std::string(key) + "' in both pod sets of the group");
      }
    }
  }
  return errors;
}

}  // namespace berth::webhook
