#include "base/threads/guarded.h"

#include <cstdlib>
#include <exception>
#include <string>

#include "base/log/log.h"

namespace berth {
namespace {

std::string WhatWasThrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "not a std::exception";
  }
}

}  // namespace

void LogThrown(std::string_view message) { LogError(message, {{"error", WhatWasThrown()}}); }

void AbortThrown(std::string_view message) {
  LogError(message, {{"error", WhatWasThrown()}, {"then", "the process ends"}});
  std::abort();
}

std::thread StartThread(std::string_view message, std::function<void()> body) {
  // allow bare-thread: what it runs is guarded
  return std::thread([message, body = std::move(body)] { RunOrAbort(message, body); });
}

}  // namespace berth
