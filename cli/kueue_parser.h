// cli/kueue_parser.h — kueuectl's verbs on the command line of berth.
#pragma once

#include "cli/kueue_verbs.h"

namespace CLI {
class App;
}

namespace berth::cli {

// The flags that the parser fills; they must outlive it.
struct KueueVerbFlags {
  CreateFlags create;
  ActivityFlags activity;
  ListKindFlags list;
};

// Adds create, stop and resume to `app`, and the kinds to its command `list`.
void AddKueueVerbs(CLI::App& app, CLI::App& list, KueueVerbFlags& flags, int& exit_code);

}  // namespace berth::cli
