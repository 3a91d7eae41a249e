// local/apiserver/policies/kept_programs.h — the compiled programs of stored policies, by name.
//
// A program is compiled when a revision of its policy is first asked for. When kMost programs are
// kept, all are dropped before the next one.
//
// Threads: any. Errors: none; the program contains the errors of its expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "local/apiserver/policies/policy_program.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class KeptPrograms {
 public:
  static constexpr std::size_t kMost = 1024;

  std::shared_ptr<const PolicyProgram> Of(const StoredObject& policy);

 private:
  struct Kept {
    std::int64_t revision = 0;
    std::shared_ptr<const PolicyProgram> program;
  };
  std::mutex mutex_;
  std::map<std::string, Kept> programs_;  // by the name of the policy
};

}  // namespace berth::local
