// Targets of CEL: expressions over a document, and descriptions of job kinds.
#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/yaml/yaml.h"
#include "cel/cost_estimate.h"
#include "cel/internal/syntax.h"
#include "cel/program.h"
#include "cel/property_names.h"
#include "cel/value_json.h"
#include "cel/value_text.h"
#include "integrations/declared_kind.h"
#include "integrations/described_job.h"
#include "integrations/kind_schema.h"
#include "integrations/sample_play.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {

// An expression; after "--" the document that is `self`.
void Expressions(std::string_view text) {
  const auto [expression, document] = SplitParts(text);
  if (const auto escaped = cel::EscapeProperty(expression)) {
    Require(cel::IsIdentifier(*escaped), "an escaped name is an identifier");
    Require(cel::UnescapeProperty(*escaped) == expression, "a name reads as it is escaped");
  }
  cel::Environment environment;
  environment.variables = {"self", "x"};
  environment.objects = {"Object"};
  environment.limits.cost = 20'000;
  environment.limits.memory_bytes = 1U << 20U;
  const auto program = cel::Compile(expression, environment);
  if (!program) {
    Require(program.error().message.starts_with("ERROR: <input>:"), "an error has its place");
    return;
  }
  const cel::TypedVariables untyped;
  (void)cel::CheckTypes(expression, untyped, environment.limits);
  const auto cost = cel::EstimateCost(expression, untyped, cel::TypeOf(cel::Type::Kind::kDyn),
                                      environment.limits);
  Require(cost.has_value(), "what compiles has an estimated cost");
  const auto tree = cel::Parse(expression, environment.limits.nesting);
  Require(tree.has_value(), "what compiles parses");
  const std::string printed = cel::Print(**tree);
  const auto again = cel::Parse(printed, 1000);
  Require(again && cel::Print(**again) == printed, "a tree reads as it is printed");
  const auto json = api::ParseJson(document, {.max_depth = 100});
  const nlohmann::json self = json ? *json : nlohmann::json{{"a", 1}, {"list", {1, "b", nullptr}}};
  cel::Activation activation;
  activation.Set("self", cel::Value::View(self));
  std::uint64_t budget = environment.limits.cost;
  const auto value = program->Evaluate(activation, budget);
  const auto second = program->Evaluate(activation);
  Require(value.has_value() == second.has_value(), "an evaluation can be repeated");
  if (!value) {
    Require(value.error() == second.error(), "an evaluation fails the same again");
    return;
  }
  Require(budget > 0, "a value has left some budget");
  Require(cel::ToText(*value) == cel::ToText(*second), "an evaluation has the same value again");
  if (const auto copy = cel::ToJson(*value, 1000))
    (void)copy->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A description of a job kind; after "--" an object of the kind, or the schema of the kind.
void JobKinds(std::string_view text) {
  const auto [description, sample] = SplitParts(text);
  const auto document = api::ParseYaml(description, {.max_bytes = 16384, .max_nodes = 2000});
  const auto object = api::ParseYaml(sample, {.max_bytes = 16384, .max_nodes = 2000});
  if (!document || !object) return;
  (void)integrations::ParseJobKind(document->value);
  const auto declared = integrations::ParseDeclaredKind(document->value);
  const auto kind = integrations::ParseKind(document->value);
  Require(kind || !declared, "what a user may declare is a description");
  if (!kind) {
    Require(!kind.error().message.empty(), "an error says what is wrong");
    return;
  }
  (void)integrations::CheckIsOf(**kind, object->value);
  (void)integrations::CheckPaths(**kind, object->value);
  (void)integrations::PlaySample(*kind, object->value);
  const auto view = integrations::ViewOf(*kind, object->value);
  if (!view) return;
  std::vector<integrations::PodSetChange> changes(view->pod_sets.size());
  for (auto& change : changes) change.node_selector = {{"pool", "a"}};
  const auto started = integrations::Started(**kind, object->value, changes);
  if (!view->problem.empty()) return;
  Require(started.has_value(), "a job that can be read can be started");
  const auto stopped = integrations::Stopped(**kind, started->back(), changes, false);
  Require(integrations::ViewOf(*kind, stopped.back()).has_value(), "a stopped job can be read");
}

}  // namespace berth::fuzz
