// RuleErrors: walks an object beside its schema and its old object, and evaluates the rules.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "local/apiserver/schema/crd_internal.h"
#include "local/apiserver/schema/crd_rules.h"
#include "local/apiserver/schema/item_index.h"
#include "local/apiserver/schema/validation.h"

namespace berth::local {
namespace {

constexpr std::string_view kTooCostly = "operation cancelled: actual cost limit exceeded";
constexpr std::size_t kMaxMessageBytes = 5120;  // the limit of an evaluated messageExpression
constexpr char kOutOfBudget[] =
    "validation failed due to running out of cost budget, no further validation rules will be run";

// The answer of an expression without variables but `self`.
cel::Value Converted(const cel::Program& program, const Json& value) {
  auto answer = program.Evaluate(cel::Activation().Set("self", cel::Value::View(value)));
  return answer ? std::move(*answer) : cel::Value::Failure(answer.error().message);
}

// The value of a field whose format has a type of its own in CEL.
cel::Value FormattedValue(const std::string& format, const Json& value) {
  static const auto compiled = [](const char* text) {
    return *cel::Compile(text, {.variables = {"self"}, .objects = {}});
  };
  static const cel::Program timestamp = compiled("timestamp(self)");
  static const cel::Program date = compiled("timestamp(self + 'T00:00:00Z')");
  static const cel::Program duration = compiled("duration(self)");
  if (format == "date-time") return Converted(timestamp, value);
  if (format == "date") return Converted(date, value);
  if (format == "duration") return Converted(duration, value);
  const auto bytes = Base64Decode(value.get_ref<const std::string&>());
  return bytes ? cel::Value::Bytes(*bytes) : cel::Value::Failure("invalid base64");
}

const Json* OldMember(const Json* before, const std::string& key) {
  if (before == nullptr || !before->is_object()) return nullptr;
  const auto at = before->find(key);
  return at == before->end() ? nullptr : &*at;
}

// What `self` is: the JSON, but for values whose schema gives them another type than their JSON,
// and for lists without an order, whose order matters only where it differs from that in `other`,
// the value to compare with (null: nothing is compared).
cel::Value ValueOf(const TypeNode& type, const Json& value, const Json* other) {
  const bool reorders = type.has_unordered && other != nullptr && *other != value;
  if (!type.cel_converts && !reorders) return cel::Value::View(value);
  if (value.is_string() && type.kind == TypeKind::kString) {
    return FormattedValue(type.validation->format, value);
  }
  if (value.is_number_integer() && type.kind == TypeKind::kNumber) {
    return cel::Value(value.get<double>());
  }
  if (value.is_array() && type.element != nullptr) {
    cel::Values items;
    items.reserve(value.size());
    const OldItems others(type, other);
    for (const Json& item : value) {
      items.push_back(ValueOf(*type.element, item, others.Of(item)));
    }
    return cel::Value::List(std::move(items), type.list_type == ListType::kAtomic
                                                  ? cel::ListOrder::kCounts
                                                  : cel::ListOrder::kAny);
  }
  if (value.is_object()) {
    cel::Entries entries;
    entries.reserve(value.size());
    for (const auto& [key, member] : value.items()) {
      const TypeNode* child = ChildType(type, key);
      entries.emplace_back(cel::Value::ViewText(key),
                           child == nullptr ? cel::Value::View(member)
                                            : ValueOf(*child, member, OldMember(other, key)));
    }
    return cel::Value::Map(std::move(entries));
  }
  return cel::Value::View(value);
}

// The type as Kubernetes quotes it; empty: any.
std::string TypeName(const TypeNode& type) {
  if (type.validation == nullptr || type.validation->types.size() != 1) return "";
  return type.validation->types.front();
}

class RuleWalk {
 public:
  RuleWalk(std::vector<Cause>& causes, std::vector<Cause>& ratcheted)
      : causes_(causes), ratcheted_(ratcheted) {}

  // `before`: the value before the update, null where there is none.
  void Visit(const TypeNode& type, const Json& value, const Json* before, const FieldPath& path) {
    if (!type.has_rules || value.is_null() || spent_) return;
    if (before != nullptr && before->is_null()) before = nullptr;
    pairs_.push_back({&value, before, std::nullopt});
    if (type.validation != nullptr && type.validation->rules != nullptr) {
      CheckNode(type, value, before, path);
    }
    if (value.is_array() && type.element != nullptr) {
      const OldItems old_items(type, before);
      for (std::size_t i = 0; i < value.size(); ++i) {
        Visit(*type.element, value[i], old_items.Of(value[i]), path.Index(i));
      }
    } else if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        const TypeNode* child = ChildType(type, key);
        if (child == nullptr || !child->has_rules) continue;
        Visit(*child, member, OldMember(before, key),
              type.kind == TypeKind::kMap ? path.Key(key) : path.Child(key));
      }
    }
    pairs_.pop_back();
  }

 private:
  void CheckNode(const TypeNode& type, const Json& value, const Json* before,
                 const FieldPath& path) {
    const CrdRules& rules = *type.validation->rules;
    cel::Activation plain;
    plain.Set("self", ValueOf(type, value, before));
    cel::Activation optional;  // for rules with optionalOldSelf
    if (rules.reads_old()) {
      optional = plain;
      optional.Set("oldSelf", cel::Value::Optional(std::nullopt));
      if (before != nullptr) {
        const cel::Value old_self = ValueOf(type, *before, &value);
        plain.Set("oldSelf", old_self);
        optional.Set("oldSelf", cel::Value::Optional(old_self));
      }
    }
    for (const CrdRule& rule : rules.all()) {
      if (rule.reads_old && before == nullptr && !rule.optional_old) continue;
      if (budget_ == 0) {
        spent_ = true;
        causes_.push_back(InvalidError(path.Text(), TypeName(type), kOutOfBudget));
        return;
      }
      const auto answer = rule.program.Evaluate(rule.optional_old ? optional : plain, budget_);
      if (!answer) {
        const std::string& error = answer.error().message;
        causes_.push_back(InvalidError(path.Text(), TypeName(type), FailureText(error, rule)));
        spent_ = error.starts_with(kTooCostly);
        if (spent_) return;
        continue;
      }
      if (cel::IsTrue(*answer)) continue;
      if (spent_ = causes_.size() >= kMostCauses; spent_) return;
      const bool stays = !rule.reads_old && IsUnchanged();
      if (stays && ratcheted_.size() >= kMostCauses) continue;
      (stays ? ratcheted_ : causes_)
          .push_back(Refusal(rule, type, value,
                             (rule.field_path.empty() ? path : path.Child(rule.field_path)).Text(),
                             MessageOf(rule, plain)));
    }
  }

  static std::string FailureText(const std::string& error, const CrdRule& rule) {
    if (error.starts_with("no such overload")) {
      return "'" + error +
             "': call arguments did not match a supported operator, function or macro signature "
             "for rule: " +
             rule.shown;
    }
    if (error.starts_with(kTooCostly)) {
      return "'" + error +
             "': no further validation rules will be run due to call cost exceeds limit for "
             "rule: " +
             rule.shown;
    }
    return error + " evaluating rule: " + rule.shown;
  }

  std::string MessageOf(const CrdRule& rule, const cel::Activation& activation) {
    if (!rule.message_program) return rule.message;
    const auto answer = rule.message_program->Evaluate(activation, budget_);
    if (!answer || !answer->is(cel::Kind::kString)) return rule.message;
    const std::string_view text = TrimSpace(answer->AsText());
    const bool fits = !text.empty() && text.size() <= kMaxMessageBytes &&
                      text.find('\n') == std::string_view::npos;
    return fits ? std::string(text) : rule.message;
  }

  static Cause Refusal(const CrdRule& rule, const TypeNode& type, const Json& value,
                       std::string path, const std::string& message) {
    const std::string name = TypeName(type);
    const bool omitted = name == "object" || name == "array";
    if (rule.reason == "FieldValueForbidden") return ForbiddenError(std::move(path), message);
    if (rule.reason == "FieldValueRequired") return RequiredError(std::move(path), message);
    if (rule.reason == "FieldValueDuplicate") {
      return omitted ? DuplicateWithoutValue(std::move(path))
                     : DuplicateError(std::move(path), value);
    }
    return omitted ? InvalidWithoutValue(std::move(path), message)
                   : InvalidError(std::move(path), value, message);
  }

  // A value around the node, or the node itself, and what it was.
  struct Pair {
    const Json* value;
    const Json* before;        // null: none
    std::optional<bool> same;  // nullopt: not compared yet
  };

  // Whether the update leaves the node, or a value around it, as it was.
  bool IsUnchanged() {
    return std::any_of(pairs_.begin(), pairs_.end(), [](Pair& pair) {
      if (!pair.same) pair.same = pair.before != nullptr && *pair.value == *pair.before;
      return *pair.same;
    });
  }

  std::vector<Cause>& causes_;
  std::vector<Cause>& ratcheted_;
  std::vector<Pair> pairs_;  // from the root to the node
  std::uint64_t budget_ = kMaxRuleCost;
  bool spent_ = false;
};

}  // namespace

void RuleErrors(const TypeNode& root, const Json& object, const Json* old_object,
                std::vector<Cause>& causes, std::vector<Cause>& ratcheted) {
  FieldPaths paths;
  RuleWalk(causes, ratcheted).Visit(root, object, old_object, paths.Root());
}

}  // namespace berth::local
