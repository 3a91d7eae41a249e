// The targets of workloads for `berth simulate`, CSV and the Standard Workload Format, of the
// forecasts that `berth eta` keeps, and of scenarios.
#include <string>

#include "api/codec/start_forecast.h"
#include "cli/generator_file.h"
#include "cli/philly_log.h"
#include "forecast/eta_entries.h"
#include "scenarios/script.h"
#include "simulation/trace.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

void CheckTrace(const Result<simulation::Trace>& trace) {
  if (!trace) {
    Require(trace.error().code == ErrorCode::kInvalid, "a text that is refused is invalid");
    Require(trace.error().message.rfind("line ", 0) == 0, "an error names its line");
    return;
  }
  for (const simulation::TraceJob& job : trace->jobs) {
    Require(job.pods >= 1 && job.pods <= simulation::kMaxPods, "pods are in range");
    Require(job.submit >= Duration::zero() && job.submit <= simulation::kMaxTraceTime,
            "submissions are in range");
    Require(job.run >= Duration::zero() && job.run <= simulation::kMaxTraceTime,
            "run times are in range");
    for (const auto& [resource, amount] : job.requests) {
      Require(!resource.empty() && amount > 0, "requests are above zero");
    }
  }
}

void CheckGenerator(std::string_view text) {
  const auto sources = cli::ReadGenerator(text);
  if (!sources) {
    Require(sources.error().code == ErrorCode::kInvalid, "a generator that is refused is invalid");
    return;
  }
  for (const simulation::JobSource& source : *sources) {
    Require(!source.shapes.empty(), "a source has a shape");
    Require(source.run.kind != simulation::RandomSpan::Kind::kValues || !source.run.values.empty(),
            "there is a value to choose");
  }
}

}  // namespace

void Scenarios(std::string_view text) {
  const auto script = scenarios::ParseScript(text);
  if (!script) {
    Require(script.error().code == ErrorCode::kInvalid, "a scenario that is refused is invalid");
    Require(script.error().message.rfind("line ", 0) == 0, "an error names its line");
    return;
  }
  Require(!script->name.empty(), "a scenario has a name");
  for (const scenarios::Step& step : script->steps) {
    Require(!step.words.empty(), "a step has a command");
    for (const std::string& word : step.plains()) {
      const auto span = scenarios::ParseSpan(word);
      if (!span) continue;
      Require(*span >= Duration::zero() && *span <= scenarios::kLongestSpan, "times are in range");
      Require(scenarios::ParseSpan(scenarios::FormatSpan(*span)) == span,
              "a time reads as written");
    }
  }
}

void Workloads(std::string_view text) {
  (void)simulation::FormatOf("", text);
  CheckTrace(simulation::ReadCsv(text));
  CheckTrace(simulation::ReadSwf(text));
  CheckTrace(simulation::ReadAlibabaPods(text));
  CheckTrace(simulation::ReadAlibabaTasks(text));
  CheckTrace(cli::ReadPhillyLog(text));
  if (cli::IsGenerator(text)) CheckGenerator(text);
  // The kind of the line ends has no meaning.
  std::string lines;
  for (const char each : text) {
    if (each == '\r') continue;
    if (each == '\n') lines += '\r';
    lines += each;
  }
  std::string plain;
  for (const char each : text) {
    if (each != '\r') plain += each;
  }
  const auto a = simulation::ReadCsv(lines);
  const auto b = simulation::ReadCsv(plain);
  Require(a.has_value() == b.has_value(), "either kind of line ends is read");
  if (a) Require(a->jobs == b->jobs, "either kind of line ends gives the same jobs");
}

void EtaFiles(std::string_view text) {
  const auto noted = api::DecodeStartForecast(text);
  if (noted) {
    const auto again = api::DecodeStartForecast(api::EncodeStartForecast(*noted));
    Require(again.has_value() && *again == *noted, "an annotation is read as it was written");
    Require(!noted->p90 || (noted->p50 && *noted->p90 >= *noted->p50), "quantiles are in order");
  }
  const auto entries = forecast::ParseEtaEntries(text);
  if (!entries) {
    Require(entries.error().message.rfind("line ", 0) == 0, "an error names its line");
    return;
  }
  const auto again = forecast::ParseEtaEntries(forecast::FormatEtaEntries(*entries));
  Require(again.has_value() && *again == *entries, "entries are read as they were written");
}

}  // namespace berth::fuzz
