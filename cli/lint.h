// cli/lint.h — `berth lint`: what is wrong with manifests, before a cluster has them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace CLI {
class App;
}

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

// Adds the command to `app`; `flags` must outlive it (cli/lint_parser.cc).
void AddLint(CLI::App& app, LintFlags& flags, int& exit_code);

}  // namespace berth::cli
