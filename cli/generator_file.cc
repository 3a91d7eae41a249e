#include "cli/generator_file.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "api/quantity.h"
#include "api/yaml/yaml.h"
#include "base/go_duration.h"
#include "base/strings.h"
#include "simulation/trace.h"

namespace berth::cli {
namespace {

using simulation::JobShapeChoice;
using simulation::JobSource;
using simulation::RandomSpan;
using simulation::StagePhase;

constexpr std::size_t kMaxGeneratorBytes = std::size_t{1} << 20U;
constexpr std::int64_t kMostStages = 100'000;
constexpr std::int64_t kWidestStage = 10'000;
constexpr double kMostSigma = 10;

Error At(const YAML::Mark& mark, const std::string& problem) {
  return simulation::TraceError(mark.line + 1, static_cast<std::size_t>(mark.column) + 1, problem);
}
Error At(const YAML::Node& node, const std::string& problem) { return At(node.Mark(), problem); }

// The fields of a mapping; a field that nobody takes is an error.
class FieldsOf {
 public:
  static Result<FieldsOf> Read(const YAML::Node& node, const std::string& what) {
    if (!node.IsMap()) return At(node, what + ": expected a mapping of fields");
    FieldsOf fields;
    fields.node_.reset(node);
    fields.what_ = what;
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) return At(pair.first, what + ": expected names of fields");
      fields.left_.emplace_back(pair.first.Scalar(), pair.first.Mark());
    }
    return fields;
  }

  // nullopt: there is no such field.
  std::optional<YAML::Node> Take(const char* name) {
    const auto found = std::find_if(left_.begin(), left_.end(),
                                    [name](const auto& each) { return each.first == name; });
    if (found == left_.end()) return std::nullopt;
    left_.erase(found);
    const YAML::Node& map = node_;
    return map[name];
  }
  // A name that is left; nullopt: none.
  std::optional<std::string> Left() const {
    return left_.empty() ? std::nullopt : std::optional(left_.front().first);
  }
  Status RefuseRest() const {
    if (left_.empty()) return OkStatus();
    return At(left_.front().second, what_ + ": \"" + left_.front().first + "\" is no field of it");
  }
  const YAML::Node& node() const { return node_; }

 private:
  YAML::Node node_;
  std::string what_;
  // No nodes: an assignment to a YAML::Node, as by erase, changes the document.
  std::vector<std::pair<std::string, YAML::Mark>> left_;
};

Result<std::string> WordOf(const YAML::Node& node, const char* name) {
  if (node.IsScalar()) return node.Scalar();
  return At(node, std::string(name) + ": expected one value");
}

Result<std::int64_t> WholeOf(const YAML::Node& node, const char* name, std::int64_t least,
                             std::int64_t most) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  const auto number = ParseInt64(word);
  if (number && *number >= least && *number <= most) return *number;
  return At(node, std::string(name) + ": expected a whole number from " + std::to_string(least) +
                      " to " + std::to_string(most));
}

Result<double> DecimalOf(const YAML::Node& node, const char* name, double most) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  const auto number = simulation::ParseSeconds(word);  // a decimal number of 0 or more
  if (number) {
    const double value = std::chrono::duration<double>(*number).count();
    if (value <= most) return value;
  }
  return At(node, std::string(name) + ": expected a number from 0 to " +
                      std::to_string(std::llround(most)));
}

Result<Duration> OneSpan(const YAML::Node& node, const char* name) {
  BERTH_TRY(const std::string word, WordOf(node, name));
  std::optional<Duration> span = simulation::ParseSeconds(word);
  if (!span) span = ParseGoDuration(word);
  if (span && *span >= Duration::zero() && *span <= simulation::kMaxTraceTime) return *span;
  return At(node, std::string(name) + ": expected seconds, or a duration such as 1h30m");
}

Result<Duration> SpanField(FieldsOf& fields, const char* name) {
  const auto node = fields.Take(name);
  if (node) return OneSpan(*node, name);
  return At(fields.node(), std::string(name) + ": the field is missing");
}

Result<RandomSpan> ReadUniform(const YAML::Node& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kUniform};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "uniform"));
  BERTH_TRY(span.first, SpanField(fields, "from"));
  BERTH_TRY(span.last, SpanField(fields, "to"));
  BERTH_CHECK_OK(fields.RefuseRest());
  if (span.last < span.first) return At(node, "uniform: \"to\" is below \"from\"");
  return span;
}

Result<RandomSpan> ReadExponential(const YAML::Node& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kExponential};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "exponential"));
  BERTH_TRY(span.first, SpanField(fields, "mean"));
  BERTH_CHECK_OK(fields.RefuseRest());
  return span;
}

Result<RandomSpan> ReadLognormal(const YAML::Node& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kLognormal};
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "lognormal"));
  BERTH_TRY(span.first, SpanField(fields, "median"));
  const auto sigma = fields.Take("sigma");
  if (!sigma) return At(node, "sigma: the field is missing");
  BERTH_TRY(span.sigma, DecimalOf(*sigma, "sigma", kMostSigma));
  BERTH_CHECK_OK(fields.RefuseRest());
  return span;
}

Result<RandomSpan> ReadValues(const YAML::Node& node) {
  RandomSpan span{.kind = RandomSpan::Kind::kValues};
  if (!node.IsSequence() || node.size() == 0) {
    return At(node, "values: expected a list of one span or more");
  }
  for (const YAML::Node& each : node) {
    BERTH_TRY(const Duration value, OneSpan(each, "values"));
    span.values.push_back(value);
  }
  return span;
}

// A span, or {DISTRIBUTION: …}.
Result<RandomSpan> ReadSpan(const YAML::Node& node, const char* name) {
  if (!node.IsMap()) {
    BERTH_TRY(const Duration span, OneSpan(node, name));
    return RandomSpan{.first = span};
  }
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, name));
  const auto distribution = fields.Left();
  if (!distribution || node.size() != 1) {
    return At(node, std::string(name) + ": expected a span or one distribution");
  }
  const YAML::Node inner = *fields.Take(distribution->c_str());
  if (*distribution == "uniform") return ReadUniform(inner);
  if (*distribution == "exponential") return ReadExponential(inner);
  if (*distribution == "lognormal") return ReadLognormal(inner);
  if (*distribution == "values") return ReadValues(inner);
  return At(node, std::string(name) + ": \"" + *distribution +
                      "\" is no distribution: uniform, exponential, lognormal or values");
}

// The fields of a shape, which may stand in the source itself.
Status TakeShape(FieldsOf& fields, JobShapeChoice& shape) {
  if (const auto pods = fields.Take("pods")) {
    BERTH_TRY(const std::int64_t count, WholeOf(*pods, "pods", 1, simulation::kMaxPods));
    shape.pods = static_cast<std::int32_t>(count);
  }
  for (const auto& [name, resource] :
       {std::pair("cpu", "cpu"), std::pair("memory", "memory"), std::pair("gpu", "nvidia.com/gpu"),
        std::pair("ephemeral-storage", "ephemeral-storage")}) {
    const auto node = fields.Take(name);
    if (!node) continue;
    BERTH_TRY(const std::string word, WordOf(*node, name));
    const auto amount = api::ParseAmount(resource, word);
    if (!amount || *amount <= 0) {
      return At(*node, std::string(name) + ": expected an amount above 0, such as 4 or 16Gi");
    }
    shape.requests[resource] = *amount;
  }
  return OkStatus();
}

Result<JobShapeChoice> ReadShape(const YAML::Node& node) {
  JobShapeChoice shape;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "shapes"));
  if (const auto weight = fields.Take("weight")) {
    constexpr double kMostWeight = 1e6;
    BERTH_TRY(shape.weight, DecimalOf(*weight, "weight", kMostWeight));
    if (shape.weight == 0) return At(*weight, "weight: expected a number above 0");
  }
  BERTH_CHECK_OK(TakeShape(fields, shape));
  BERTH_CHECK_OK(fields.RefuseRest());
  return shape;
}

Result<StagePhase> ReadPhase(const YAML::Node& node) {
  StagePhase phase;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "stages"));
  const auto whole = [&fields](const char* name, std::int64_t least, std::int64_t most,
                               std::int32_t& out) -> Status {
    const auto found = fields.Take(name);
    if (!found) return OkStatus();
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
Status ReadList(const YAML::Node& node, const char* name, Result<T> (*read)(const YAML::Node&),
                std::vector<T>& out) {
  if (!node.IsSequence() || node.size() == 0) {
    return At(node, std::string(name) + ": expected a list of one entry or more");
  }
  for (const YAML::Node& each : node) {
    BERTH_TRY(T entry, read(each));
    out.push_back(std::move(entry));
  }
  return OkStatus();
}

Status TakeArrivals(FieldsOf& fields, JobSource& source) {
  const auto stages = fields.Take("stages");
  const auto count = fields.Take("count");
  const auto every = fields.Take("every");
  const auto think = fields.Take("think");
  if (stages) {
    if (count || every) {
      return At(count ? *count : *every, "count, every: a source with stages has neither");
    }
    if (think) {
      BERTH_TRY(source.think, ReadSpan(*think, "think"));
    }
    return ReadList(*stages, "stages", &ReadPhase, source.phases);
  }
  if (think) return At(*think, "think: only a source with stages has it");
  if (count) {
    BERTH_TRY(source.count,
              WholeOf(*count, "count", 1, static_cast<std::int64_t>(simulation::kMaxTraceJobs)));
  }
  if (every) {
    BERTH_TRY(source.between, ReadSpan(*every, "every"));
  }
  return OkStatus();
}

Result<JobSource> ReadSource(const YAML::Node& node) {
  JobSource source;
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(node, "sources"));
  if (const auto queue = fields.Take("queue")) {
    BERTH_TRY(source.queue, WordOf(*queue, "queue"));
  }
  for (const char* name : {"class", "priority"}) {
    const auto found = fields.Take(name);
    if (found) {
      BERTH_TRY(source.priority, WordOf(*found, name));
    }
  }
  if (const auto start = fields.Take("start")) {
    BERTH_TRY(source.start, OneSpan(*start, "start"));
  }
  BERTH_CHECK_OK(TakeArrivals(fields, source));
  const auto run = fields.Take("run");
  if (!run) return At(node, "run: the field is missing");
  BERTH_TRY(source.run, ReadSpan(*run, "run"));
  if (const auto failing = fields.Take("failing")) {
    BERTH_TRY(source.failing, DecimalOf(*failing, "failing", 1));
  }
  if (const auto linger = fields.Take("linger")) {
    BERTH_TRY(source.linger, ReadSpan(*linger, "linger"));
  }
  if (const auto shapes = fields.Take("shapes")) {
    BERTH_CHECK_OK(ReadList(*shapes, "shapes", &ReadShape, source.shapes));
  } else {
    BERTH_CHECK_OK(TakeShape(fields, source.shapes.emplace_back()));
  }
  BERTH_CHECK_OK(fields.RefuseRest());
  return source;
}

Result<std::vector<JobSource>> ReadRoot(const YAML::Node& root) {
  BERTH_TRY(FieldsOf fields, FieldsOf::Read(root, "JobGenerator"));
  const auto kind = fields.Take("kind");
  if (!kind || !kind->IsScalar() || kind->Scalar() != "JobGenerator") {
    return At(root, "kind: expected JobGenerator");
  }
  std::vector<JobSource> sources;
  const auto list = fields.Take("sources");
  if (!list) return At(root, "sources: the field is missing");
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
  // The limits of the first reader hold for the second, which knows lines and columns.
  const auto checked = api::ParseYaml(text, {.max_bytes = kMaxGeneratorBytes});
  if (!checked) return checked.error();
  if (!checked->duplicate_keys.empty()) {
    return Error{ErrorCode::kInvalid, checked->duplicate_keys.front() + ": stands twice"};
  }
  try {
    // allow json-parse: ParseYaml has read the text within its limits
    return ReadRoot(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return simulation::TraceError(error.mark.line + 1,
                                  static_cast<std::size_t>(error.mark.column) + 1, error.msg);
  }
}

}  // namespace berth::cli
