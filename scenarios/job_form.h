// scenarios/job_form.h — the short form of a Job.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "scenarios/script.h"

namespace berth::scenarios {

// job [NAMESPACE/]NAME queue=Q cpu=1 gpu=1 runs=30s …; README.md has all options.
Result<std::vector<nlohmann::json>> MakeJob(const Step& step);

// "key", "key=value", either with ":Effect".
nlohmann::json TolerationOf(const std::string& text);

}  // namespace berth::scenarios
