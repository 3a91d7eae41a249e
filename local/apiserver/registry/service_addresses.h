// local/apiserver/registry/service_addresses.h — gives Services their cluster addresses.
//
// An address is free if no stored Service has it and it was not given a moment ago: two requests at
// a time never get the same one.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

class ServiceAddresses {
 public:
  // `prefix`: "127.96"; Services get addresses of 127.96.128.0/17.
  explicit ServiceAddresses(std::string prefix) : prefix_(std::move(prefix)) {}

  // Completes spec.clusterIP and the fields that depend on it in a Service that is being created.
  // Returns the causes of a refusal.
  std::vector<Cause> Assign(Json& service, const WatchCache& cache);

 private:
  std::string Free(const WatchCache& cache);

  const std::string prefix_;
  std::mutex mutex_;
  std::uint32_t last_ = 0;
  std::deque<std::string> given_;  // the newest, whose writes may be on their way
};

}  // namespace berth::local
