// cli/test_parser.h — `berth test` on the command line.
#pragma once

namespace CLI {
class App;
}
namespace berth::scenarios {
struct TestFlags;
}

namespace berth::cli {

// Adds the command to `app`; `flags` must outlive it.
void AddTest(CLI::App& app, scenarios::TestFlags& flags, int& exit_code);

}  // namespace berth::cli
