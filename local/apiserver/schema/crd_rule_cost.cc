#include "local/apiserver/schema/crd_rule_cost.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cel/cost_estimate.h"
#include "local/apiserver/schema/declared_type.h"
#include "local/apiserver/schema/validation.h"

namespace berth::local {
namespace {

constexpr std::uint64_t kMostRequestBytes = 3 * 1024 * 1024;
constexpr std::size_t kMostShown = 4;  // the most rules that an error names as too costly

std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  return a != 0 && UINT64_MAX / a < b ? UINT64_MAX : a * b;
}

std::string TooCostly(const std::string& what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  std::array<char, 32> shown{};
  std::snprintf(shown.data(), shown.size(), factor < 1.5 ? "%fx" : "%.1fx", factor);
  return what + " exceeds budget by factor of " +
         (factor > 100 ? std::string("more than 100x") : shown.data()) +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
         "arrays, maps, and strings are declared)";
}

const Json* SchemaAt(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  return found != schema.end() && found->is_object() ? &*found : nullptr;
}

std::string RuleTextAt(const Json& rule, const char* name) {
  const auto found = rule.find(name);
  return found != rule.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// How many values of an inner schema one value of `schema` has at most; nullopt: no limit.
std::optional<std::uint64_t> MostInside(const Json& schema) {
  const auto limit = [&schema](const char* name) -> std::optional<std::uint64_t> {
    const auto found = schema.find(name);
    if (found == schema.end() || !found->is_number_integer()) return std::nullopt;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found->get<std::int64_t>()));
  };
  const std::string type = RuleTextAt(schema, "type");
  if (type == "array") return limit("maxItems");
  if (type == "object" && schema.contains("additionalProperties")) return limit("maxProperties");
  return 1;
}

class CostCheck {
 public:
  // `count` is the most values of `schema` in an object; nullopt: no limit.
  void Visit(const Json& schema, const std::string& path, bool is_root,
             std::optional<std::uint64_t> count) {
    CheckRules(schema, path, is_root, count);
    const auto inside = MostInside(schema);
    std::optional<std::uint64_t> inner;
    if (count && inside) inner = Times(*count, *inside);
    if (const Json* properties = SchemaAt(schema, "properties")) {
      for (const auto& [name, property] : properties->items()) {
        if (property.is_object()) {
          Visit(property, KeyPath(ChildPath(path, "properties"), name), false, inner);
        }
      }
    }
    for (const char* name : {"items", "additionalProperties"}) {
      if (const Json* one = SchemaAt(schema, name)) {
        Visit(*one, ChildPath(path, name), false, inner);
      }
    }
  }

  std::vector<Cause> Finish(const std::string& path) {
    if (total_ <= kMostDefinitionCost) return std::move(causes_);
    std::stable_sort(costly_.begin(), costly_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (costly_.size() > kMostShown) costly_.resize(kMostShown);
    for (const auto& [cost, rule] : costly_) {
      causes_.push_back(ForbiddenError(
          rule,
          "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
          "schema"));
    }
    causes_.push_back(ForbiddenError(
        path, TooCostly("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
                        "schema",
                        total_, kMostDefinitionCost)));
    return std::move(causes_);
  }

 private:
  void CheckRules(const Json& schema, const std::string& path, bool is_root,
                  std::optional<std::uint64_t> count) {
    const auto rules = schema.find("x-kubernetes-validations");
    if (rules == schema.end() || !rules->is_array() || rules->empty()) return;
    const auto embedded = schema.find("x-kubernetes-embedded-resource");
    const bool is_whole = is_root || (embedded != schema.end() && *embedded == true);
    const cel::TypePtr self = DeclaredType(schema, is_whole);
    if (!count) {
      count = kMostRequestBytes / (static_cast<std::uint64_t>(LeastBytes(schema, is_whole)) + 1);
    }
    for (std::size_t i = 0; i < rules->size(); ++i) {
      const Json& rule = (*rules)[i];
      if (!rule.is_object()) continue;
      const std::string at = IndexPath(ChildPath(path, "x-kubernetes-validations"), i);
      const auto optional = rule.find("optionalOldSelf");
      cel::TypedVariables typed;
      typed.types["self"] = self;
      typed.types["oldSelf"] = optional != rule.end() && *optional == true
                                   ? cel::TypeOf(cel::Type::Kind::kOptional, self)
                                   : self;
      Take(rule, "rule", at, typed, *count);
      if (!RuleTextAt(rule, "messageExpression").empty()) {
        Take(rule, "messageExpression", at, typed, 1);
      }
    }
  }

  void Take(const Json& rule, const char* name, const std::string& path,
            const cel::TypedVariables& typed, std::uint64_t count) {
    const auto once = cel::EstimateCost(RuleTextAt(rule, name), typed, typed.types.at("self"));
    if (!once) return;
    const std::uint64_t cost = Times(*once, count);
    const std::string at = ChildPath(path, name);
    if (cost > kMostRuleCost) {
      causes_.push_back(ForbiddenError(
          at, TooCostly("estimated " + std::string(name) + " cost", cost, kMostRuleCost)));
    }
    total_ = cost > UINT64_MAX - total_ ? UINT64_MAX : total_ + cost;
    if (cost >= kMostDefinitionCost / 100) costly_.emplace_back(cost, at);
  }

  std::vector<Cause> causes_;
  std::uint64_t total_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> costly_;  // costs and their places
};

}  // namespace

std::vector<Cause> RuleCostErrors(const Json& schema, std::string_view path) {
  CostCheck check;
  check.Visit(schema, std::string(path), true, 1);
  return check.Finish(std::string(path));
}

}  // namespace berth::local
