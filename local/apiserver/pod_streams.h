// local/apiserver/pod_streams.h — the interface to programs and ports of pods: implemented by the
// component that runs the pods, used by exec, attach and portforward.
//
// Threads: any. `done` is called once, on any thread; it is destroyed without a call where the
// component stops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/program_streams.h"

namespace berth::local {

struct PodPlace {
  std::string namespace_name;
  std::string pod;
  std::string pod_uid;
};

struct ProgramRequest {
  PodPlace place;
  std::string container;
  std::vector<std::string> command;  // empty: attach to the container's own program
  bool wants_input = false;
  bool wants_output = false;
  bool wants_error = false;
  bool is_terminal = false;
};

class PodStreams {
 public:
  template <typename T>
  using Done = std::function<void(ApiResult<T>)>;

  virtual ~PodStreams() = default;
  // 400 BadRequest: the container does not run. A command that cannot be executed is no error here:
  // the observer gets its end.
  virtual void StartProgram(const ProgramRequest& request,
                            std::shared_ptr<ProgramObserver> observer,
                            Done<std::unique_ptr<RunningProgram>> done) = 0;
  // The address at which a program of the pod listens on the TCP port. 400 BadRequest where no
  // program of the pod does: a port of another program of this machine is never given.
  virtual void FindPort(const PodPlace& place, std::uint16_t port, Done<std::string> done) = 0;
};

}  // namespace berth::local
