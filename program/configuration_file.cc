#include "program/configuration_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/log/log.h"
#include "program/job_kinds.h"

namespace berth::program {
namespace {

// A kind that Kueue has behind a gate needs the gate.
Status CheckGates(const admission::Configuration& configuration) {
  const auto& enabled = configuration.enabled_gates;
  for (const integrations::KindPtr& kind : DescribedKinds(configuration.frameworks)) {
    const std::string& gate = kind->feature_gate;
    if (gate.empty() || std::find(enabled.begin(), enabled.end(), gate) != enabled.end()) continue;
    return Error{ErrorCode::kInvalid,
                 "integrations.frameworks: " + std::string(kind->kind.framework) +
                     " needs the feature gate " + gate};
  }
  return OkStatus();
}

// The configuration of a file without fields.
admission::Configuration DefaultConfiguration() {
  admission::Configuration configuration;
  configuration.admission.metrics.local_queues = true;
  return configuration;
}

}  // namespace

Result<admission::Configuration> ReadConfigurationDocument(const nlohmann::json& document) {
  BERTH_TRY(admission::Configuration configuration, admission::ReadConfiguration(document));
  BERTH_CHECK_OK(CheckGates(configuration));
  for (const std::string& name : UnmanagedFrameworks(configuration.frameworks)) {
    configuration.ignored.push_back(
        {"integrations.frameworks: " + name, "jobs of this kind are not managed by Berth yet"});
  }
  return configuration;
}

Result<admission::Configuration> ReadConfigurationFile(const std::string& path) {
  if (path.empty()) return DefaultConfiguration();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::kNotFound, "--config: cannot read " + path};
  const Result<api::YamlDocument> document = api::ParseYaml(text.str());
  if (!document) return Annotate(document.error(), "--config " + path);
  if (!document->duplicate_keys.empty()) {
    return Error{ErrorCode::kInvalid,
                 "--config " + path + ": " + document->duplicate_keys.front() + ": duplicate key"};
  }
  Result<admission::Configuration> configuration = ReadConfigurationDocument(document->value);
  if (!configuration) return Annotate(configuration.error(), "--config " + path);
  for (const auto& [field, why] : configuration->ignored) {
    LogWarning("field of the configuration has no effect", {{"field", field}, {"because", why}});
  }
  return configuration;
}

void TakeDecisions(const std::string& decisions, admission::Configuration& configuration) {
  if (!decisions.empty()) {
    admission::SetDecisions(configuration, decisions == "kueue" ? admission::Decisions::kKueue
                                                                : admission::Decisions::kBerth);
  }
  const admission::OwnRules& rules = configuration.admission.driver.scheduler.own_rules;
  const std::string off = rules.NamesOfDisabled();
  if (off.empty()) return;  // the default, which needs no line
  LogInfo("Berth's own rules of decisions", {{"on", rules.NamesOfEnabled()}, {"off", off}});
}

}  // namespace berth::program
