// cli/configuration_file.h — reads Kueue's Configuration file (--config).
#pragma once

#include <string>

#include "admission/controller/configuration.h"
#include "base/result.h"

namespace berth::cli {

// An empty path gives Kueue's defaults. What is not read yet is logged, once a field.
// Errors: kNotFound, kInvalid with the file and the field.
Result<admission::Configuration> ReadConfigurationFile(const std::string& path);

// As `decisions` says, the value of --decisions ("kueue", "berth"; empty: as the file says), and
// logs which of Berth's own rules are on and off.
void TakeDecisions(const std::string& decisions, admission::Configuration& configuration);

}  // namespace berth::cli
