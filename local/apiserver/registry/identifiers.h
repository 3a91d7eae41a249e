// local/apiserver/registry/identifiers.h — uids of new objects, and the random ends of generated
// names.
//
// Both come from one sequence: a seed and an order of requests give the same objects again.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "base/random.h"

namespace berth::local {

class Identifiers {
 public:
  explicit Identifiers(std::uint64_t seed) : random_(seed) {}

  std::string NewUid();      // a UUID (uuid.h)
  std::string NameSuffix();  // five characters, as metadata.generateName gets them

 private:
  std::mutex mutex_;
  Random random_;  // guarded by mutex_
};

}  // namespace berth::local
