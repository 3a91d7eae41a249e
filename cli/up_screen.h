// cli/up_screen.h — what `berth up` prints when it is up: five lines of what to do next.
//
// Pure. Threads: any. Errors: none.
#pragma once

#include <cstdint>
#include <string>

namespace berth::cli {

struct UpScreen {
  std::string api_url;
  std::string kubeconfig;    // path
  std::string read_api_url;  // empty: not served
  std::string sign_in;       // address with a code that signs in once; empty: not asked for
  std::int64_t process = 0;  // number of the process
  bool api_only = false;     // without queues
  bool has_controllers = true;
  bool has_samples = false;
};

std::string UpScreenText(const UpScreen& screen);

}  // namespace berth::cli
