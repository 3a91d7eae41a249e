// tests/local/apiserver/server/no_streams.h — streams of pods for servers that run none.
//
// Threads: any.
#pragma once

#include "local/apiserver/pod_streams.h"

namespace berth::local {

// Nothing runs pods here: a request that is let in is refused for another reason.
class NoStreams final : public PodStreams {
 public:
  void StartProgram(const ProgramRequest& /*request*/,
                    std::shared_ptr<ProgramObserver> /*observer*/,
                    Done<std::unique_ptr<RunningProgram>> /*done*/) override {}
  void FindPort(const PodPlace& /*place*/, std::uint16_t /*port*/,
                Done<std::string> /*done*/) override {}
};

}  // namespace berth::local
