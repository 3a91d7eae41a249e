// cli/generator_file.h — the file of a JobGenerator (docs/guide/simulate.md) as sources of jobs.
//
// Threads: pure functions. Errors: kInvalid, "line 3, column 5: …"; columns count from 1.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulation/generator.h"

namespace berth::cli {

// Whether the text is YAML of `kind: JobGenerator`; its other fields may be wrong.
bool IsGenerator(std::string_view text);
Result<std::vector<simulation::JobSource>> ReadGenerator(std::string_view text);

}  // namespace berth::cli
