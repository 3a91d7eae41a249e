// Parses the text form in two steps, tokens then requirements; error texts are Kubernetes'.
#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

using Operator = LabelRequirement::Operator;
enum class Kind : std::uint8_t {
  kError,
  kEnd,
  kOpen,
  kClose,
  kComma,
  kNot,
  kEquals,
  kNotEquals,
  kGreater,
  kLess,
  kIn,
  kNotIn,
  kWord,
};
struct Token {
  Kind kind = Kind::kEnd;
  std::string text;
};

bool IsSpecial(char c) {
  return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The longest operator at the start of `text`.
Token SymbolAt(std::string_view text) {
  static const std::map<std::string, Kind, std::less<>> kSymbols{
      {"(", Kind::kOpen},       {")", Kind::kClose},   {",", Kind::kComma},
      {"!", Kind::kNot},        {"=", Kind::kEquals},  {"==", Kind::kEquals},
      {"!=", Kind::kNotEquals}, {">", Kind::kGreater}, {"<", Kind::kLess}};
  for (const std::size_t length : {std::size_t{2}, std::size_t{1}}) {
    const auto at = kSymbols.find(text.substr(0, length));
    if (at != kSymbols.end() && text.size() >= length) return {at->second, at->first};
  }
  return {Kind::kError, std::string(text.substr(0, 1))};
}

std::vector<Token> Tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    if (IsBlank(text[at])) {
      ++at;
      continue;
    }
    if (IsSpecial(text[at])) {
      tokens.push_back(SymbolAt(text.substr(at)));
      at += tokens.back().text.size();
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && !IsSpecial(text[at]) && !IsBlank(text[at])) ++at;
    std::string word(text.substr(start, at - start));
    const Kind kind = word == "in" ? Kind::kIn : word == "notin" ? Kind::kNotIn : Kind::kWord;
    tokens.push_back({kind, std::move(word)});
  }
  tokens.push_back({Kind::kEnd, ""});
  return tokens;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(Tokens(text)) {}

  // Returns "" on success, else the error.
  std::string Parse(std::vector<LabelRequirement>& out) {
    while (true) {
      const Token& token = Peek();
      if (token.kind == Kind::kEnd) return "";
      if (!IsWord(token) && token.kind != Kind::kNot) {
        return "found '" + token.text + "', expected: !, identifier, or 'end of string'";
      }
      LabelRequirement requirement;
      if (std::string why = Requirement(requirement); !why.empty()) {
        return "unable to parse requirement: " + why;
      }
      out.push_back(std::move(requirement));
      const Token next = Take();
      if (next.kind == Kind::kEnd) return "";
      if (next.kind != Kind::kComma) {
        return "found '" + next.text + "', expected: ',' or 'end of string'";
      }
      if (!IsWord(Peek()) && Peek().kind != Kind::kNot) {
        return "found '" + Peek().text + "', expected: identifier after ','";
      }
    }
  }

 private:
  // `in` and `notin` are ordinary words where no operator is allowed.
  static bool IsWord(const Token& token) {
    return token.kind == Kind::kWord || token.kind == Kind::kIn || token.kind == Kind::kNotIn;
  }
  const Token& Peek() const { return tokens_[std::min(at_, tokens_.size() - 1)]; }
  Token Take() {
    Token token = Peek();
    ++at_;
    return token;
  }

  std::string Requirement(LabelRequirement& out) {
    Token token = Take();
    const bool negated = token.kind == Kind::kNot;
    if (negated) token = Take();
    if (!IsWord(token)) return "found '" + token.text + "', expected: identifier";
    if (const auto errors = LabelKeyErrors(token.text); !errors.empty()) {
      const Cause cause = InvalidError("", token.text, Join(errors, "; "));
      return cause.field + ": " + cause.message;
    }
    out.key = token.text;
    if (negated) {
      out.op = Operator::kDoesNotExist;
      return "";
    }
    if (Peek().kind == Kind::kEnd || Peek().kind == Kind::kComma) {
      out.op = Operator::kExists;
      return "";
    }
    return OperatorAndValues(out);
  }

  std::string OperatorAndValues(LabelRequirement& out) {
    const Token op = Take();
    std::set<std::string> values;
    std::string why;
    switch (op.kind) {
      case Kind::kIn:
      case Kind::kNotIn:
        out.op = op.kind == Kind::kIn ? Operator::kIn : Operator::kNotIn;
        why = ValueSet(values);
        break;
      case Kind::kEquals:
      case Kind::kNotEquals:
      case Kind::kGreater:
      case Kind::kLess:
        out.op = op.kind == Kind::kEquals      ? Operator::kIn
                 : op.kind == Kind::kNotEquals ? Operator::kNotIn
                 : op.kind == Kind::kGreater   ? Operator::kGreaterThan
                                               : Operator::kLessThan;
        why = OneValue(values);
        break;
      default: return "found '" + op.text + "', expected: in, notin, =, ==, !=, gt, lt";
    }
    if (!why.empty()) return why;
    out.values.assign(values.begin(), values.end());
    return CheckValues(out);
  }

  static std::string CheckValues(const LabelRequirement& requirement) {
    for (std::size_t i = 0; i < requirement.values.size(); ++i) {
      const std::string& value = requirement.values[i];
      const std::string path = IndexPath("values", i);
      const bool ordered =
          requirement.op == Operator::kGreaterThan || requirement.op == Operator::kLessThan;
      if (ordered && !ParseInt64(value)) {
        const Cause cause =
            InvalidError(path, value, "for 'Gt', 'Lt' operators, the value must be an integer");
        return cause.field + ": " + cause.message;
      }
      if (const auto errors = LabelValueErrors(value); !errors.empty()) {
        const Cause cause = InvalidError(KeyPath(path, requirement.key), value, Join(errors, "; "));
        return cause.field + ": " + cause.message;
      }
    }
    return "";
  }

  std::string OneValue(std::set<std::string>& values) {
    if (Peek().kind == Kind::kEnd || Peek().kind == Kind::kComma) {
      values.insert("");
      return "";
    }
    const Token token = Take();
    if (!IsWord(token)) return "found '" + token.text + "', expected: identifier";
    values.insert(token.text);
    return "";
  }

  // "(a,,b)": nothing between two commas is the empty value.
  std::string ValueSet(std::set<std::string>& values) {
    const Token open = Take();
    if (open.kind != Kind::kOpen) return "found '" + open.text + "' expected: '('";
    bool after_comma = true;
    while (true) {
      const Token token = Take();
      if (token.kind == Kind::kClose || token.kind == Kind::kComma) {
        if (after_comma) values.insert("");
        if (token.kind == Kind::kClose) return "";
        after_comma = true;
        continue;
      }
      if (!IsWord(token)) return "found '" + token.text + "', expected: ',', ')' or identifier";
      if (!after_comma) return "found '" + token.text + "', expected: ',' or ')'";
      values.insert(token.text);
      after_comma = false;
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

void SortByKey(std::vector<LabelRequirement>& requirements) {
  std::stable_sort(
      requirements.begin(), requirements.end(),
      [](const LabelRequirement& a, const LabelRequirement& b) { return a.key < b.key; });
}

// Reads one matchExpressions item; returns "" on success.
std::string ReadExpression(const Json& item, LabelRequirement& out) {
  static const std::map<std::string, Operator, std::less<>> kOperators{
      {"In", Operator::kIn},
      {"NotIn", Operator::kNotIn},
      {"Exists", Operator::kExists},
      {"DoesNotExist", Operator::kDoesNotExist}};
  if (!item.is_object()) return "matchExpressions items must be objects";
  out.key = FieldText(item, "key");
  const std::string op = FieldText(item, "operator");
  const auto at = kOperators.find(op);
  if (at == kOperators.end()) return GoQuote(op) + " is not a valid label selector operator";
  out.op = at->second;
  std::set<std::string> values;
  if (item.contains("values") && item["values"].is_array()) {
    for (const Json& value : item["values"]) {
      if (value.is_string()) values.insert(value.get<std::string>());
    }
  }
  out.values.assign(values.begin(), values.end());
  const bool wants_values = out.op == Operator::kIn || out.op == Operator::kNotIn;
  if (wants_values && out.values.empty()) {
    return "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty";
  }
  if (!wants_values && !out.values.empty()) {
    return "values: Invalid value: " + GoJson(item["values"]) +
           ": values set must be empty for exists and does not exist";
  }
  return "";
}

bool Holds(const LabelRequirement& requirement, const std::string* value) {
  switch (requirement.op) {
    case Operator::kExists: return value != nullptr;
    case Operator::kDoesNotExist: return value == nullptr;
    case Operator::kIn:
      return value != nullptr &&
             std::binary_search(requirement.values.begin(), requirement.values.end(), *value);
    case Operator::kNotIn:
      return value == nullptr ||
             !std::binary_search(requirement.values.begin(), requirement.values.end(), *value);
    case Operator::kGreaterThan:
    case Operator::kLessThan: break;
  }
  if (value == nullptr || requirement.values.empty()) return false;
  const auto have = ParseInt64(*value);
  const auto limit = ParseInt64(requirement.values.front());
  if (!have || !limit) return false;
  return requirement.op == Operator::kGreaterThan ? *have > *limit : *have < *limit;
}

}  // namespace

ApiResult<LabelSelector> ParseLabelSelector(std::string_view text) {
  LabelSelector selector;
  Parser parser(text);
  if (std::string why = parser.Parse(selector.requirements); !why.empty()) return BadRequest(why);
  SortByKey(selector.requirements);
  return selector;
}

ApiResult<LabelSelector> LabelSelectorFromJson(const Json& selector) {
  LabelSelector out;
  if (selector.is_null()) {
    out.nothing = true;
    return out;
  }
  if (!selector.is_object()) return BadRequest("a label selector must be an object");
  if (const auto labels = selector.find("matchLabels");
      labels != selector.end() && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (!value.is_string()) return BadRequest("matchLabels." + key + " must be a string");
      out.requirements.push_back({key, Operator::kIn, {value.get<std::string>()}});
    }
  }
  if (const auto items = selector.find("matchExpressions");
      items != selector.end() && items->is_array()) {
    for (const Json& item : *items) {
      LabelRequirement requirement;
      if (std::string why = ReadExpression(item, requirement); !why.empty()) return BadRequest(why);
      out.requirements.push_back(std::move(requirement));
    }
  }
  SortByKey(out.requirements);
  return out;
}

bool Matches(const LabelSelector& selector, const Json& labels) {
  if (selector.nothing) return false;
  for (const LabelRequirement& requirement : selector.requirements) {
    const std::string* value = nullptr;
    if (labels.is_object()) {
      const auto at = labels.find(requirement.key);
      if (at != labels.end() && at->is_string()) value = &at->get_ref<const std::string&>();
    }
    if (!Holds(requirement, value)) return false;
  }
  return true;
}

std::string FormatLabelSelector(const LabelSelector& selector) {
  std::string text;
  for (const LabelRequirement& requirement : selector.requirements) {
    if (!text.empty()) text += ",";
    const std::string& key = requirement.key;
    switch (requirement.op) {
      case Operator::kExists: text += key; continue;
      case Operator::kDoesNotExist: text += "!" + key; continue;
      case Operator::kGreaterThan: text += key + ">" + Join(requirement.values, ","); continue;
      case Operator::kLessThan: text += key + "<" + Join(requirement.values, ","); continue;
      case Operator::kIn:
      case Operator::kNotIn: break;
    }
    const bool in = requirement.op == Operator::kIn;
    if (requirement.values.size() == 1) {
      text += key + (in ? "=" : "!=") + requirement.values.front();
    } else {
      text += key + (in ? " in (" : " notin (") + Join(requirement.values, ",") + ")";
    }
  }
  return text;
}

bool SelectorMatches(const Json& owner, const Json& object) {
  static const Json::json_pointer selector("/spec/selector");
  static const Json::json_pointer labels("/metadata/labels");
  if (!owner.contains(selector)) return false;
  const auto parsed = LabelSelectorFromJson(owner.at(selector));
  return parsed && Matches(*parsed, object.contains(labels) ? object.at(labels) : Json());
}

}  // namespace berth::local
