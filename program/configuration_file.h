// program/configuration_file.h — reads Kueue's Configuration file (--config).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "admission/controller/configuration/configuration.h"
#include "base/result.h"

namespace berth::program {

// An empty path gives Kueue's defaults. Each ignored field is logged once.
// Errors: kNotFound, kInvalid with the file and the field.
Result<admission::Configuration> ReadConfigurationFile(const std::string& path);

// Reads the document of a Configuration file; `ignored` also names the job kinds that Berth does
// not manage.
// Errors: kInvalid with the field.
Result<admission::Configuration> ReadConfigurationDocument(const nlohmann::json& document);

// Applies --decisions ("kueue", "berth"; empty: the file's value) to `configuration`, and logs
// which of Berth's own rules are on and off, where one is off.
void TakeDecisions(const std::string& decisions, admission::Configuration& configuration);

}  // namespace berth::program
