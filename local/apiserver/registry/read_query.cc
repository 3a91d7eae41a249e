#include "local/apiserver/registry/read_query.h"

#include "local/apiserver/registry/json_access.h"

namespace berth::local {

std::string FieldLabelValue(const StoredObject& object, std::string_view label) {
  if (label == "metadata.name") return object.key().name;
  if (label == "metadata.namespace") return object.key().namespace_name;
  const Object json = object.json();
  if (json == nullptr) return "";
  if (object.key().resource == "events" && label == "source") {
    const std::string component = TextAt(*json, {"source", "component"});
    return component.empty() ? TextAt(*json, {"reportingComponent"}) : component;
  }
  // Events are stored in the core group's form.
  constexpr std::string_view kRegarding = "regarding.";
  if (label.substr(0, kRegarding.size()) == kRegarding) {
    return FieldText(*json, "involvedObject." + std::string(label.substr(kRegarding.size())));
  }
  if (label == "reportingController") return TextAt(*json, {"reportingComponent"});
  std::string text = FieldText(*json, label);
  if (text.empty() && (label == "spec.unschedulable" || label == "spec.hostNetwork")) {
    return "false";
  }
  if (text.empty() && label == "status.successful") return "0";
  return text;
}

bool MatchesQuery(const StoredObject& object, const LabelSelector& labels,
                  const FieldSelector& fields) {
  if (!fields.empty() &&
      !Matches(fields, [&](std::string_view label) { return FieldLabelValue(object, label); })) {
    return false;
  }
  if (labels.empty()) return true;
  const Object json = object.json();
  if (json == nullptr) return false;
  const Json* found = At(*json, {"metadata", "labels"});
  return Matches(labels, found == nullptr ? Json() : *found);
}

}  // namespace berth::local
