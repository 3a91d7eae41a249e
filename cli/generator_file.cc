#include "cli/generator_file.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "api/quantity.h"
#include "api/yaml/yaml.h"
#include "api/yaml/yaml_nodes.h"
#include "base/go_duration.h"
#include "base/strings.h"
#include "simulation/trace.h"

namespace berth::cli {
namespace {

using api::YamlNode;
using simulation::JobShapeChoice;
using simulation::JobSource;
using simulation::RandomSpan;
using simulation::StagePhase;

constexpr std::size_t kMaxGeneratorBytes = std::size_t{1} << 20U;
constexpr std::int64_t kMostStages = 100'000;
constexpr std::int64_t kWidestStage = 10'000;
constexpr double kMostSigma = 10;

Error At(const YamlNode& node, const std::string& problem) {
  return simulation::TraceError(node.line, node.column, problem);
}

// The fields of a mapping; a field that nobody takes is an error.
class FieldsOf {
 public:
  static Result<FieldsOf> Read(const YamlNode& node, const std::string& what) {
    if (!node.is_map()) return At(node, what + ": expected a mapping of fields");
    FieldsOf fields;
    fields.node_ = &node;
    fields.what_ = what;
    for (const api::YamlField& field : node.fields) {
      if (!field.name.is_scalar()) return At(field.name, what + ": expected names of fields");
      fields.left_.push_back(&field);
    }
    return fields;
  }

  // Null: there is no such field.
  const YamlNode* Take(const char* name) {
    const auto found = std::find_if(left_.begin(), left_.end(), [name](const api::YamlField* each) {
      return each->name.text == name;
    });
    if (found == left_.end()) return nullptr;
    const YamlNode* value = &(*found)->value;
    left_.erase(found);
    return value;
  }
  // A field that is left; null: none.
  const api::YamlField* Left() const { return left_.empty() ? nullptr : left_.front(); }
  Status RefuseRest() const {
    if (left_.empty()) return OkStatus();
    const YamlNode& name = left_.front()->name;
    return At(name, what_ + ": \"" + name.text + "\" is not a field");
  }
  const YamlNode& node() const { return *node_; }

 private:
  const YamlNode* node_ = nullptr;
  std::string what_;
  std::vector<const api::YamlField*> left_;
};

Result<std::string> WordOf(const YamlNode& node, const char* name) {
  if (node.is_scalar()) return node.text;
  return At(node, std::string(name) + ": expected one value");
}

Result<std::int64_t> WholeOf(const YamlNode& node, const char* name, std::int64_t least,
                             std::int64_t most) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  const auto number = ParseInt64(word);
  if (number && *number >= least && *number <= most) return *number;
  return At(node, std::string(name) + ": expected a whole number from " + std::to_string(least) +
                      " to " + std::to_string(most));
}

Result<double> DecimalOf(const YamlNode& node, const char* name, double most) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  const auto number = simulation::ParseSeconds(word);  // a decimal number of 0 or more
  if (number) {
    const double value = std::chrono::duration<double>(*number).count();
    if (value <= most) return value;
  }
  return At(node, std::string(name) + ": expected a number from 0 to " +
                      std::to_string(std::llround(most)));
}

Result<Duration> OneSpan(const YamlNode& node, const char* name) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  std::optional<Duration> span = simulation::ParseSeconds(word);
  if (!span) span = ParseGoDuration(word);
  if (span && *span >= Duration::zero() && *span <= simulation::kMaxTraceTime) return *span;
  return At(node, std::string(name) + ": expected seconds, or a duration such as 1h30m");
}

Result<Duration> SpanField(FieldsOf& fields, const char* name) {
  const YamlNode* node = fields.Take(name);
  if (node != nullptr) return OneSpan(*node, name);
  return At(fields.node(), std::string(name) + ": the field is missing");
}

Result<RandomSpan> ReadUniform(const YamlNode& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kUniform};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "uniform"));
  BERTH_TRY(span.first, SpanField(fields, "from"));
  BERTH_TRY(span.last, SpanField(fields, "to"));
  BERTH_CHECK_OK(fields.RefuseRest());
  if (span.last < span.first) return At(node, "uniform: \"to\" is below \"from\"");
  return span;
}

Result<RandomSpan> ReadExponential(const YamlNode& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kExponential};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "exponential"));
  BERTH_TRY(span.first, SpanField(fields, "mean"));
  BERTH_CHECK_OK(fields.RefuseRest());
  return span;
}

Result<RandomSpan> ReadLognormal(const YamlNode& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kLognormal};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "lognormal"));
  BERTH_TRY(span.first, SpanField(fields, "median"));
  const YamlNode* sigma = fields.Take("sigma");
  if (sigma == nullptr) return At(node, "sigma: the field is missing");
  BERTH_TRY(span.sigma, DecimalOf(*sigma, "sigma", kMostSigma));
  BERTH_CHECK_OK(fields.RefuseRest());
  return span;
}

Result<RandomSpan> ReadValues(const YamlNode& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kValues};
  if (!node.is_sequence() || node.items.empty()) {
    return At(node, "values: expected a list of one span or more");
  }
  for (const YamlNode& each : node.items) {
    BERTH_TRY(const Duration value, OneSpan(each, "values"));
    span.values.push_back(value);
  }
  return span;
}

// A span, or {DISTRIBUTION: …}.
Result<RandomSpan> ReadSpan(const YamlNode& node, const char* name) {
  if (!node.is_map()) {
    BERTH_TRY(const Duration span, OneSpan(node, name));
    return RandomSpan{.first = span};
  }
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, name));
  if (node.fields.size() != 1) {
    return At(node, std::string(name) + ": expected a span or one distribution");
  }
  const std::string& distribution = fields.Left()->name.text;
  const YamlNode& inner = fields.Left()->value;
  if (distribution == "uniform") return ReadUniform(inner);
  if (distribution == "exponential") return ReadExponential(inner);
  if (distribution == "lognormal") return ReadLognormal(inner);
  if (distribution == "values") return ReadValues(inner);
  return At(node, std::string(name) + ": \"" + distribution +
                      "\" is no distribution: uniform, exponential, lognormal or values");
}

// The fields of a shape, which may stand in the source itself.
Status TakeShape(FieldsOf& fields, JobShapeChoice& shape) {
  if (const YamlNode* pods = fields.Take("pods")) {
    BERTH_TRY(const std::int64_t count, WholeOf(*pods, "pods", 1, simulation::kMaxPods));
    shape.pods = static_cast<std::int32_t>(count);
  }
  for (const auto& [name, resource] :
       {std::pair("cpu", "cpu"), std::pair("memory", "memory"), std::pair("gpu", "nvidia.com/gpu"),
        std::pair("ephemeral-storage", "ephemeral-storage")}) {
    const YamlNode* node = fields.Take(name);
    if (node == nullptr) continue;
    BERTH_TRY(const std::string word, WordOf(*node, name));
    const auto amount = api::ParseAmount(resource, word);
    if (!amount || *amount <= 0) {
      return At(*node, std::string(name) + ": expected an amount above 0, such as 4 or 16Gi");
    }
    shape.requests[resource] = *amount;
  }
  return OkStatus();
}

Result<JobShapeChoice> ReadShape(const YamlNode& node) {
  JobShapeChoice shape;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "shapes"));
  if (const YamlNode* weight = fields.Take("weight")) {
    constexpr double kMostWeight = 1e6;
    BERTH_TRY(shape.weight, DecimalOf(*weight, "weight", kMostWeight));
    if (shape.weight == 0) return At(*weight, "weight: expected a number above 0");
  }
  BERTH_CHECK_OK(TakeShape(fields, shape));
  BERTH_CHECK_OK(fields.RefuseRest());
  return shape;
}

Result<StagePhase> ReadPhase(const YamlNode& node) {
  StagePhase phase;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "stages"));
  const auto whole = [&fields](const char* name, std::int64_t least, std::int64_t most,
                               std::int32_t& out) -> Status {
    const YamlNode* found = fields.Take(name);
    if (found == nullptr) return OkStatus();
    BERTH_TRY(const std::int64_t number, WholeOf(*found, name, least, most));
    out = static_cast<std::int32_t>(number);
    return OkStatus();
  };
  BERTH_CHECK_OK(whole("stages", 1, kMostStages, phase.stages));
  BERTH_CHECK_OK(whole("min", 1, kWidestStage, phase.min));
  phase.max = phase.min;
  BERTH_CHECK_OK(whole("max", 1, kWidestStage, phase.max));
  phase.variation = phase.max;
  BERTH_CHECK_OK(whole("variation", 0, kWidestStage, phase.variation));
  BERTH_CHECK_OK(fields.RefuseRest());
  if (phase.max < phase.min) return At(node, "max: expected \"min\" or more");
  return phase;
}

template <typename T>
Status ReadList(const YamlNode& node, const char* name, Result<T> (*read)(const YamlNode&),
                std::vector<T>& out) {
  if (!node.is_sequence() || node.items.empty()) {
    return At(node, std::string(name) + ": expected a list of one entry or more");
  }
  for (const YamlNode& each : node.items) {
    BERTH_TRY(T entry, read(each));
    out.push_back(std::move(entry));
  }
  return OkStatus();
}

Status TakeArrivals(FieldsOf& fields, JobSource& source) {
  const YamlNode* stages = fields.Take("stages");
  const YamlNode* count = fields.Take("count");
  const YamlNode* every = fields.Take("every");
  const YamlNode* think = fields.Take("think");
  if (stages != nullptr) {
    if (count != nullptr || every != nullptr) {
      return At(count != nullptr ? *count : *every,
                "count, every: not allowed in a source with stages");
    }
    if (think != nullptr) {
      BERTH_TRY(source.think, ReadSpan(*think, "think"));
    }
    return ReadList(*stages, "stages", &ReadPhase, source.phases);
  }
  if (think != nullptr) return At(*think, "think: allowed only in a source with stages");
  if (count != nullptr) {
    BERTH_TRY(source.count,
              WholeOf(*count, "count", 1, static_cast<std::int64_t>(simulation::kMaxTraceJobs)));
  }
  if (every != nullptr) {
    BERTH_TRY(source.between, ReadSpan(*every, "every"));
  }
  return OkStatus();
}

Result<JobSource> ReadSource(const YamlNode& node) {
  JobSource source;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "sources"));
  if (const YamlNode* queue = fields.Take("queue")) {
    BERTH_TRY(source.queue, WordOf(*queue, "queue"));
  }
  for (const char* name : {"class", "priority"}) {
    const YamlNode* found = fields.Take(name);
    if (found != nullptr) {
      BERTH_TRY(source.priority, WordOf(*found, name));
    }
  }
  if (const YamlNode* start = fields.Take("start")) {
    BERTH_TRY(source.start, OneSpan(*start, "start"));
  }
  BERTH_CHECK_OK(TakeArrivals(fields, source));
  const YamlNode* run = fields.Take("run");
  if (run == nullptr) return At(node, "run: the field is missing");
  BERTH_TRY(source.run, ReadSpan(*run, "run"));
  if (const YamlNode* failing = fields.Take("failing")) {
    BERTH_TRY(source.failing, DecimalOf(*failing, "failing", 1));
  }
  if (const YamlNode* linger = fields.Take("linger")) {
    BERTH_TRY(source.linger, ReadSpan(*linger, "linger"));
  }
  if (const YamlNode* shapes = fields.Take("shapes")) {
    BERTH_CHECK_OK(ReadList(*shapes, "shapes", &ReadShape, source.shapes));
  } else {
    BERTH_CHECK_OK(TakeShape(fields, source.shapes.emplace_back()));
  }
  BERTH_CHECK_OK(fields.RefuseRest());
  return source;
}

Result<std::vector<JobSource>> ReadRoot(const YamlNode& root) {
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(root, "JobGenerator"));
  const YamlNode* kind = fields.Take("kind");
  if (kind == nullptr || kind->text != "JobGenerator") {
    return At(root, "kind: expected JobGenerator");
  }
  std::vector<JobSource> sources;
  const YamlNode* list = fields.Take("sources");
  if (list == nullptr) return At(root, "sources: the field is missing");
  BERTH_CHECK_OK(ReadList(*list, "sources", &ReadSource, sources));
  BERTH_CHECK_OK(fields.RefuseRest());
  return sources;
}

}  // namespace

bool IsGenerator(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = TrimSpace(simulation::TakeLine(text));
    if (line.substr(0, 5) == "kind:") return line.find("JobGenerator") != std::string_view::npos;
  }
  return false;
}

Result<std::vector<JobSource>> ReadGenerator(std::string_view text) {
  const auto checked = api::ParseYaml(text, {.max_bytes = kMaxGeneratorBytes});
  if (!checked) return checked.error();
  if (!checked->duplicate_keys.empty()) {
    return Error{ErrorCode::kInvalid, checked->duplicate_keys.front() + ": duplicate key"};
  }
  BERTH_TRY(const std::vector<YamlNode> roots,
            api::ParseYamlNodes(text, {.max_bytes = kMaxGeneratorBytes}));
  if (roots.size() != 1) return simulation::TraceError(1, 1, "kind: expected JobGenerator");
  return ReadRoot(roots.front());
}

}  // namespace berth::cli
