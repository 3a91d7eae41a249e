// ValidateValue: validates one value by one schema node, in the words of Kubernetes' OpenAPI
// validator ("… in body should be at least 1 chars long").
#include <algorithm>
#include <cmath>
#include <limits>

#include <re2/re2.h>

#include "base/strings.h"
#include "local/apiserver/schema/crd_internal.h"
#include "local/apiserver/schema/formats.h"
#include "local/apiserver/schema/item_index.h"
#include "local/apiserver/schema/validation.h"

namespace berth::local {
namespace {

// JSON type and format names of a value, as the validator reports them.
struct ValueKind {
  std::string type;
  std::string format;
};

ValueKind KindOf(const Json& value) {
  if (value.is_null()) return {"null", ""};
  if (value.is_boolean()) return {"boolean", ""};
  if (value.is_string()) return {"string", ""};
  if (value.is_number_float()) return {"number", "float64"};
  if (value.is_number()) return {"integer", "int64"};
  if (value.is_array()) return {"array", ""};
  return {"object", ""};
}

bool Has(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool IsWhole(double value) { return std::isfinite(value) && std::trunc(value) == value; }

std::string InBody(const FieldPath& path, std::string_view rest) {
  return path.Text() + " in body " + std::string(rest);
}

// True if `number` is whole and fits the integer format ("" is int64).
bool FitsInteger(double number, const std::string& format) {
  if (!IsWhole(number)) return false;
  if (format == "int32") {
    return number >= std::numeric_limits<std::int32_t>::min() &&
           number <= std::numeric_limits<std::int32_t>::max();
  }
  return number >= -9223372036854775808.0 && number <= 9223372036854775807.0;
}

// Formats a bound as Go does: whole numbers without a fraction.
std::string BoundText(double bound) {
  if (IsWhole(bound) && std::abs(bound) < 9e15) {
    return std::to_string(static_cast<std::int64_t>(bound));
  }
  std::string text = InvalidError("x", bound, "").message;
  return text.substr(std::string_view("Invalid value: ").size());
}

std::int64_t CodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
}

class ValueChecker {
 public:
  ValueChecker(const TypeNode& node, const Json& value, const Json* old_value,
               const FieldPath& path, ValueErrors& errors)
      : node_(node),
        validation_(*node.validation),
        value_(value),
        old_(old_value),
        path_(path),
        errors_(errors) {}

  void Run() {
    CheckType();
    if (value_.is_null()) {
      CheckEnum();
      return;
    }
    CheckJunctors();
    if (value_.is_string()) CheckString();
    if (value_.is_number()) CheckNumber();
    if (value_.is_array()) CheckList();
    CheckEnum();
    if (value_.is_object()) CheckObject();
  }

 private:
  void Invalid(const Json& value, const std::string& detail) {
    errors_.causes.push_back(InvalidError(path_.Text(), value, detail));
  }

  void WrongType(const std::string& wanted, const std::string& found) {
    errors_.causes.push_back(TypeInvalidError(
        path_.Text(), found, InBody(path_, "must be of type " + wanted + ": " + GoQuote(found))));
  }

  void CheckType() {
    const std::vector<std::string>& types = validation_.types;
    const std::string& format = validation_.format;
    if (types.empty() && format.empty()) return;
    if (value_.is_null()) {
      if (!types.empty() && !node_.nullable) WrongType(Join(types, ","), "null");
      return;
    }
    const ValueKind kind = KindOf(value_);
    const bool whole_float =
        kind.type == "number" && Has(types, "integer") && IsWhole(value_.get<double>());
    const bool int_as_number = kind.type == "integer" && Has(types, "number");
    const bool fits = Has(types, kind.type) || whole_float || int_as_number;
    const bool textual = value_.is_string() || value_.is_array();
    if (!format.empty() && !textual && !fits && kind.format != format) {
      WrongType(format, kind.format);
      return;
    }
    const bool numeric = Has(types, "number") || Has(types, "integer");
    if (!numeric && !format.empty() && textual) return;
    if (!types.empty() && !fits) WrongType(Join(types, ","), kind.type);
  }

  void CheckString() {
    const auto& text = value_.get_ref<const std::string&>();
    const std::int64_t length = CodePoints(text);
    const Validation& v = validation_;
    if (v.max_length && length > *v.max_length) {
      errors_.causes.push_back(TooLongError(path_.Text(), *v.max_length));
    } else if (v.min_length && length < *v.min_length) {
      Invalid(value_,
              InBody(path_, "should be at least " + std::to_string(*v.min_length) + " chars long"));
    } else if (v.pattern != nullptr && !re2::RE2::PartialMatch(text, *v.pattern)) {
      Invalid(value_, InBody(path_, "should match '" + v.pattern_text + "'"));
    }
    if (!v.format.empty() && !Has(v.types, "integer") && !Has(v.types, "number") &&
        !HasFormat(v.format, text)) {
      errors_.causes.push_back(
          TypeInvalidError(path_.Text(), value_,
                           InBody(path_, "must be of type " + v.format + ": " + GoQuote(text))));
    }
  }

  void CheckNumber() {
    const Validation& v = validation_;
    const double number = value_.get<double>();
    if (Has(v.types, "integer") && v.types.size() == 1 && !FitsInteger(number, v.format)) {
      const std::string format = v.format.empty() ? "(default format)" : "with format " + v.format;
      errors_.causes.push_back(InvalidError(
          "", "", "Checked value must be of type integer " + format + " in " + path_.Text()));
    }
    // Bounds of an integer are truncated to integers, as in Kubernetes.
    const auto bound = [this](double value) {
      return value_.is_number_integer() ? std::trunc(value) : value;
    };
    if (v.multiple_of) CheckMultiple(number, bound(*v.multiple_of));
    if (v.minimum) CheckMinimum(number, bound(*v.minimum));
    if (v.maximum) CheckMaximum(number, bound(*v.maximum));
  }

  void CheckMultiple(double number, double factor) {
    if (factor <= 0) {
      errors_.causes.push_back(InvalidError(path_.Text(), factor,
                                            "factor MultipleOf declared for " + path_.Text() +
                                                " must be positive: " + BoundText(factor)));
    } else if (!IsWhole(number / factor)) {
      Invalid(value_, InBody(path_, "should be a multiple of " + BoundText(factor)));
    }
  }

  void CheckMinimum(double number, double minimum) {
    const bool exclusive = validation_.exclusive_minimum;
    if (exclusive ? number > minimum : number >= minimum) return;
    Invalid(value_, InBody(path_, (exclusive ? "should be greater than "
                                             : "should be greater than or equal to ") +
                                      BoundText(minimum)));
  }

  void CheckMaximum(double number, double maximum) {
    const bool exclusive = validation_.exclusive_maximum;
    if (exclusive ? number < maximum : number <= maximum) return;
    Invalid(value_, InBody(path_, (exclusive ? "should be less than "
                                             : "should be less than or equal to ") +
                                      BoundText(maximum)));
  }

  // Items of list maps have old items with equal keys; items of other lists have none.
  void CheckList() {
    const Validation& v = validation_;
    if (node_.kind == TypeKind::kList) {
      const OldItems old_items(node_, old_);
      for (std::size_t i = 0; i < value_.size(); ++i) {
        ValidateValue(*node_.element, value_[i], old_items.Of(value_[i]), path_.Index(i), errors_);
      }
    }
    const auto size = static_cast<std::int64_t>(value_.size());
    if (v.min_items && size < *v.min_items) {
      Invalid(size,
              InBody(path_, "should have at least " + std::to_string(*v.min_items) + " items"));
    }
    if (v.max_items && size > *v.max_items) {
      errors_.causes.push_back(TooManyError(path_.Text(), size, *v.max_items));
    }
  }

  void CheckObject() {
    const Validation& v = validation_;
    const auto size = static_cast<std::int64_t>(value_.size());
    if (v.min_properties && size < *v.min_properties) {
      Invalid(size, InBody(path_, "should have at least " + std::to_string(*v.min_properties) +
                                      " properties"));
    }
    if (v.max_properties && size > *v.max_properties) {
      errors_.causes.push_back(TooManyError(path_.Text(), size, *v.max_properties));
    }
    for (const auto& [key, member] : value_.items()) {
      const TypeNode* child = ChildType(node_, key);
      if (child == nullptr) continue;
      const Json* old_member = nullptr;
      // apiVersion is not compared: both sides were converted to one version.
      const bool type_meta = path_.IsRoot() && (key == "apiVersion" || key == "kind");
      if (old_ != nullptr && old_->is_object() && !type_meta) {
        const auto at = old_->find(key);
        if (at != old_->end()) old_member = &*at;
      }
      ValidateValue(*child, member, old_member, path_.Child(key), errors_);
    }
    for (const std::string& name : v.required) {
      if (!value_.contains(name)) {
        errors_.causes.push_back(RequiredError(path_.Child(name).Text()));
      }
    }
  }

  // A fraction is compared with integers after truncation: 2.5 equals 2 here, and the type check
  // refuses it.
  bool IsCutTo(const Json& allowed) const {
    return value_.is_number_float() && allowed.is_number_integer() &&
           std::trunc(value_.get<double>()) == allowed.get<double>();
  }

  void CheckEnum() {
    if (validation_.allowed.empty()) return;
    for (const Json& allowed : validation_.allowed) {
      if (!value_.is_null() && (allowed == value_ || IsCutTo(allowed))) return;
    }
    std::vector<std::string> supported;
    for (const Json& allowed : validation_.allowed) {
      supported.push_back(allowed.is_string() ? allowed.get<std::string>() : GoJson(allowed));
    }
    errors_.causes.push_back(NotSupportedError(path_.Text(), value_, supported));
  }

  std::vector<Cause> ErrorsOf(const TypeNode& node) const {
    ValueErrors inner;
    ValidateValue(node, value_, nullptr, path_, inner);
    return std::move(inner.causes);
  }

  void Junctor(const std::string& text) {
    errors_.causes.push_back(InvalidError("", "", GoQuote(path_.Text()) + text));
  }

  void Append(std::vector<Cause> causes) {
    std::move(causes.begin(), causes.end(), std::back_inserter(errors_.causes));
  }

  void CheckJunctors() {
    const Validation& v = validation_;
    if (!v.any_of.empty()) {
      std::vector<Cause> first;
      bool valid = false;
      for (const TypeNode* node : v.any_of) {
        std::vector<Cause> causes = ErrorsOf(*node);
        valid = valid || causes.empty();
        if (first.empty()) first = std::move(causes);
      }
      if (!valid) {
        Junctor(" must validate at least one schema (anyOf)");
        Append(std::move(first));
      }
    }
    if (!v.one_of.empty()) CheckOneOf();
    if (!v.all_of.empty()) {
      std::size_t valid = 0;
      for (const TypeNode* node : v.all_of) {
        std::vector<Cause> causes = ErrorsOf(*node);
        if (causes.empty()) ++valid;
        Append(std::move(causes));
      }
      if (valid != v.all_of.size()) {
        Junctor(std::string(" must validate all the schemas (allOf)") +
                (valid == 0 ? ". None validated" : ""));
      }
    }
    if (v.not_of != nullptr && ErrorsOf(*v.not_of).empty()) {
      Junctor(" must not validate the schema (not)");
    }
  }

  void CheckOneOf() {
    std::vector<Cause> first;
    int valid = 0;
    for (const TypeNode* node : validation_.one_of) {
      std::vector<Cause> causes = ErrorsOf(*node);
      if (causes.empty()) ++valid;
      if (first.empty()) first = std::move(causes);
    }
    if (valid == 1) return;
    Junctor(" must validate one and only one schema (oneOf). " +
            (valid == 0 ? std::string("Found none valid")
                        : "Found " + std::to_string(valid) + " valid alternatives"));
    if (valid == 0) Append(std::move(first));
  }

  const TypeNode& node_;
  const Validation& validation_;
  const Json& value_;
  const Json* old_;
  const FieldPath& path_;
  ValueErrors& errors_;
};

// Leaves out the causes above kMostCauses: a refusal stays one.
void MoveCauses(std::vector<Cause>& from, std::vector<Cause>& to) {
  const std::size_t room = kMostCauses - std::min(kMostCauses, to.size());
  const auto count = static_cast<std::ptrdiff_t>(std::min(room, from.size()));
  std::move(from.begin(), from.begin() + count, std::back_inserter(to));
}

}  // namespace

void ValidateValue(const TypeNode& type, const Json& value, const Json* old_value,
                   const FieldPath& path, ValueErrors& errors) {
  ValueErrors own;
  if (type.validation != nullptr) {
    ValueChecker(type, value, old_value, path, own).Run();
  } else if (type.kind == TypeKind::kObject || type.kind == TypeKind::kMap) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : value.items()) {
      const TypeNode* child = ChildType(type, key);
      if (child != nullptr) ValidateValue(*child, member, nullptr, path.Child(key), own);
    }
  }
  const bool unchanged = !own.causes.empty() && old_value != nullptr && *old_value == value;
  MoveCauses(own.causes, unchanged ? errors.ratcheted : errors.causes);
  MoveCauses(own.ratcheted, errors.ratcheted);
}

}  // namespace berth::local
