// cli/lint_command.h — `berth lint`: reports what is wrong with manifests before they are applied
// to a cluster.
#pragma once

#include <string>
#include <vector>

#include "cli/client_flags.h"

namespace berth::cli {

struct LintFlags {
  std::vector<std::string> files;  // files and folders
  bool recursive = false;          // reads the folders in folders, too
  std::string config;              // Kueue's Configuration file; empty: the defaults
  bool strict = false;             // warnings count as errors
  view::OutputFormat output = view::OutputFormat::kText;
};

// Returns kExitRefused if there is an error, or with `strict` if there is any finding.
int RunLint(const LintFlags& flags);

}  // namespace berth::cli
