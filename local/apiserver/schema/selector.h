// local/apiserver/schema/selector.h — label and field selectors of list and watch requests.
//
// Errors: 400 BadRequest in Kubernetes' words ("unable to parse requirement: …").
// Source: Kubernetes API concepts, labels and selectors; k8s.io/apimachinery labels, restated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

struct LabelRequirement {
  enum class Operator : std::uint8_t {
    kIn,
    kNotIn,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan,
  };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;  // sorted, distinct
  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

// All requirements must hold; an empty list matches everything.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;  // sorted by key
  bool nothing = false;                        // matches no object (a null metav1.LabelSelector)
  bool empty() const { return requirements.empty() && !nothing; }
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

// `a=b,c in (x,y),!d`. "" matches everything.
ApiResult<LabelSelector> ParseLabelSelector(std::string_view text);

// metav1.LabelSelector {matchLabels, matchExpressions}; null matches nothing, {} everything.
ApiResult<LabelSelector> LabelSelectorFromJson(const Json& selector);

// `labels`: an object of strings, or null.
bool Matches(const LabelSelector& selector, const Json& labels);

// Whether spec.selector of `owner`, a metav1.LabelSelector, matches the labels of `object`. One
// that is missing or cannot be read matches nothing.
bool SelectorMatches(const Json& owner, const Json& object);

// The text form of `kubectl get -o wide` and Scale: "a=b,c in (x,y)"; "" if empty.
std::string FormatLabelSelector(const LabelSelector& selector);

struct FieldRequirement {
  std::string field;
  std::string value;
  bool negated = false;  // `!=`
  friend bool operator==(const FieldRequirement&, const FieldRequirement&) = default;
};
using FieldSelector = std::vector<FieldRequirement>;

// `metadata.name=x,status.phase!=Running`; `\` escapes `,` `=` and itself in values.
ApiResult<FieldSelector> ParseFieldSelector(std::string_view text);

// The 400 for the first field not in `supported`, or nothing. `field label "spec.foo" not supported
// for Job`; for custom kinds `field label not supported: spec.foo`.
enum class KindOrigin : std::uint8_t { kBuiltin, kCustom };
std::optional<ApiError> CheckFieldSelector(const FieldSelector& selector,
                                           const std::vector<std::string>& supported,
                                           std::string_view kind, KindOrigin origin);

// `value_of` returns the text of a field of the object ("" if absent).
bool Matches(const FieldSelector& selector,
             const std::function<std::string(std::string_view field)>& value_of);

// The text of a dotted path in `object`: strings unchanged, numbers and booleans printed, "" if
// absent. Sufficient for every declared field label ("spec.nodeName", "involvedObject.uid").
std::string FieldText(const Json& object, std::string_view dotted_path);

}  // namespace berth::local
