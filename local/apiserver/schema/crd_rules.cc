// CrdRules::Compile: what a rule says, and the reasons why it cannot be taken.
#include "local/apiserver/schema/crd_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "cel/check.h"
#include "local/apiserver/schema/declared_type.h"

namespace berth::local {
namespace {

constexpr std::array<std::string_view, 4> kReasons = {"FieldValueRequired", "FieldValueForbidden",
                                                      "FieldValueInvalid", "FieldValueDuplicate"};

std::string TextAt(const Json& rule, const char* name) {
  const auto at = rule.find(name);
  return at != rule.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// The steps of a fieldPath: `.name` and `['key']`. nullopt: it is no path.
struct Step {
  std::string name;
  bool quoted = false;
};
std::optional<std::vector<Step>> StepsOf(std::string_view text) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (at < text.size()) {
    Step step;
    if (text[at] == '.') {
      const std::size_t end = std::min(text.find_first_of(".[]", at + 1), text.size());
      step.name = std::string(text.substr(at + 1, end - at - 1));
      at = end;
    } else if (text.substr(at, 2) == "['") {
      step.quoted = true;
      for (at += 2; at < text.size() && text[at] != '\''; ++at) {
        if (text[at] == '\\') ++at;
        if (at < text.size()) step.name += text[at];
      }
      if (text.substr(std::min(at, text.size()), 2) != "']") return std::nullopt;
      at += 2;
    } else {
      return std::nullopt;
    }
    if (step.name.empty()) return std::nullopt;
    steps.push_back(std::move(step));
  }
  if (steps.empty()) return std::nullopt;
  return steps;
}

// The path of a cause; nullopt: the schema has no such field.
std::optional<std::string> FieldPathIn(const Json& schema, std::string_view text) {
  const auto steps = StepsOf(text);
  if (!steps) return std::nullopt;
  const Json* at = &schema;
  std::string path;
  for (const Step& step : *steps) {
    const auto properties = at->find("properties");
    const auto additional = at->find("additionalProperties");
    if (properties != at->end() && properties->is_object()) {
      const auto property = properties->find(step.name);
      if (property == properties->end() || !property->is_object()) return std::nullopt;
      path = ChildPath(path, step.name);
      at = &*property;
    } else if (additional != at->end() && additional->is_object()) {
      path = KeyPath(path, step.name);
      at = &*additional;
    } else {
      return std::nullopt;
    }
  }
  return path;
}

// The text that Kubernetes prints for a rule in the causes of its definition.
std::string RuleText(const Json& rule) {
  const auto or_null = [&rule](const char* name) {
    const auto at = rule.find(name);
    return at == rule.end() ? std::string("null") : GoJson(*at);
  };
  return R"({"Rule":)" + GoJson(TextAt(rule, "rule")) + R"(,"Message":)" +
         GoJson(TextAt(rule, "message")) + R"(,"MessageExpression":)" +
         GoJson(TextAt(rule, "messageExpression")) + R"(,"Reason":)" + or_null("reason") +
         R"(,"FieldPath":)" + GoJson(TextAt(rule, "fieldPath")) + R"(,"OptionalOldSelf":)" +
         or_null("optionalOldSelf") + "}";
}

class RuleReader {
 public:
  RuleReader(const Json& schema, const Json& rule, std::string path, std::string_view list_path,
             std::vector<Cause>& causes)
      : schema_(schema),
        rule_(rule),
        path_(std::move(path)),
        list_path_(list_path),
        causes_(causes) {}

  std::optional<CrdRule> Read() {
    const std::size_t before = causes_.size();
    CheckTexts();
    if (causes_.size() > before) return std::nullopt;
    auto program = CompileAt("rule");
    if (!program) return std::nullopt;
    CrdRule out{.program = std::move(*program)};
    if (!TextAt(rule_, "messageExpression").empty()) {
      out.message_program = CompileAt("messageExpression");
    }
    const std::string rule(TrimSpace(TextAt(rule_, "rule")));
    const std::string message(TrimSpace(TextAt(rule_, "message")));
    out.shown = message.empty() ? rule : message;
    out.message = message.empty() ? "failed rule: " + rule : message;
    out.reason = TextAt(rule_, "reason");
    if (const std::string field = TextAt(rule_, "fieldPath"); !field.empty()) {
      out.field_path = FieldPathIn(schema_, field).value_or("");
    }
    out.reads_old = out.program.Reads("oldSelf");
    CheckOldSelf(out);
    if (causes_.size() > before) return std::nullopt;
    return out;
  }

 private:
  std::string At(const char* name) const { return ChildPath(path_, name); }
  static bool HasLineBreak(std::string_view text) {
    return text.find('\n') != std::string_view::npos;
  }

  void CheckTexts() {
    const std::string rule = TextAt(rule_, "rule");
    const std::string message = TextAt(rule_, "message");
    const std::string expression = TextAt(rule_, "messageExpression");
    const std::string reason = TextAt(rule_, "reason");
    const std::string field = TextAt(rule_, "fieldPath");
    if (TrimSpace(rule).empty()) {
      causes_.push_back(RequiredError(At("rule"), "rule is not specified"));
    } else if (!message.empty() && TrimSpace(message).empty()) {
      causes_.push_back(InvalidError(At("message"), message, "must be non-empty if specified"));
    } else if (HasLineBreak(TrimSpace(message))) {
      causes_.push_back(InvalidError(At("message"), message, "must not contain line breaks"));
    } else if (HasLineBreak(TrimSpace(rule)) && TrimSpace(message).empty()) {
      causes_.push_back(
          RequiredError(At("message"), "message must be specified if rule contains line breaks"));
    }
    if (!expression.empty() && TrimSpace(expression).empty()) {
      causes_.push_back(RequiredError(At("messageExpression"),
                                      "messageExpression must be non-empty if specified"));
    }
    if (!reason.empty() && std::find(kReasons.begin(), kReasons.end(), reason) == kReasons.end()) {
      std::vector<std::string> known(kReasons.begin(), kReasons.end());
      std::sort(known.begin(), known.end());
      causes_.push_back(NotSupportedError(At("reason"), reason, known));
    }
    if (!field.empty() && !FieldPathIn(schema_, field)) {
      causes_.push_back(InvalidError(At("fieldPath"), field, "must be a valid path"));
    }
  }

  std::optional<cel::Program> CompileAt(const char* name) {
    auto program =
        cel::Compile(TextAt(rule_, name), {.variables = {"self", "oldSelf"}, .objects = {}});
    const Status typed = program ? CheckTypesOf(name) : Status(program.error());
    if (typed) return std::move(*program);
    causes_.push_back({.reason = "FieldValueInvalid",
                       .field = At(name),
                       .message = "Invalid value: " + RuleText(rule_) +
                                  ": compilation failed: " + typed.error().message});
    return std::nullopt;
  }

  Status CheckTypesOf(const char* name) const {
    const cel::TypePtr self = DeclaredType(schema_);
    const auto optional = rule_.find("optionalOldSelf");
    const bool is_optional =
        optional != rule_.end() && optional->is_boolean() && optional->get<bool>();
    cel::TypedVariables typed;
    typed.types["self"] = self;
    typed.types["oldSelf"] = is_optional ? cel::TypeOf(cel::Type::Kind::kOptional, self) : self;
    Status checked = cel::CheckTypes(TextAt(rule_, name), typed);
    if (!checked || std::string_view(name) != "rule") return checked;
    typed.must_be_bool = true;
    if (cel::CheckTypes(TextAt(rule_, name), typed)) return OkStatus();
    return Error{ErrorCode::kInvalid, "cel expression must evaluate to a bool"};
  }

  void CheckOldSelf(CrdRule& out) {
    const auto optional = rule_.find("optionalOldSelf");
    const bool given = optional != rule_.end() && optional->is_boolean();
    out.optional_old = given && optional->get<bool>();
    if (!out.reads_old) {
      if (given) {
        causes_.push_back(InvalidError(At("optionalOldSelf"), *optional,
                                       "may not be set if oldSelf is not used in rule"));
      }
      return;
    }
    if (list_path_.empty()) return;
    causes_.push_back(
        InvalidError(At("rule"), TextAt(rule_, "rule"),
                     "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
                         std::string(list_path_)));
  }

  const Json& schema_;
  const Json& rule_;
  const std::string path_;
  const std::string_view list_path_;
  std::vector<Cause>& causes_;
};

}  // namespace

std::shared_ptr<const CrdRules> CrdRules::Compile(const Json& schema, std::string_view path,
                                                  std::string_view list_path,
                                                  std::vector<Cause>& causes) {
  const auto rules = schema.find("x-kubernetes-validations");
  if (rules == schema.end() || !rules->is_array() || rules->empty()) return nullptr;
  auto out = std::make_shared<CrdRules>();
  const std::string list = ChildPath(path, "x-kubernetes-validations");
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const Json& rule = (*rules)[i];
    if (!rule.is_object()) continue;
    auto read = RuleReader(schema, rule, IndexPath(list, i), list_path, causes).Read();
    if (!read) continue;
    out->reads_old_ |=
        read->reads_old || (read->message_program && read->message_program->Reads("oldSelf"));
    out->rules_.push_back(std::move(*read));
  }
  return out;
}

}  // namespace berth::local
