// cli/lint_command.h — `berth lint`: what is wrong with manifests, before a cluster has them.
#pragma once

#include <string>
#include <vector>

#include "cli/client_flags.h"

namespace berth::cli {

struct LintFlags {
  std::vector<std::string> files;  // and folders
  bool recursive = false;          // reads the folders in folders, too
  std::string config;              // Kueue's Configuration file; empty: the defaults
  bool strict = false;             // warnings count as errors
  view::OutputFormat output = view::OutputFormat::kText;
};

// Returns kExitRefused where there is an error, and with `strict` where there is a finding.
int RunLint(const LintFlags& flags);

}  // namespace berth::cli
