// local/cluster/event_recorder.h — core/v1 Events of one component; repeats only raise the count.
//
// Events report, they never decide: one that cannot be written is logged and forgotten.
//
// Threads: as ObjectCache.
#pragma once

#include <list>
#include <map>
#include <string>
#include <tuple>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  EventRecorder(Api& api, const Clock& clock, std::string component);

  // About `object`, which has apiVersion and kind.
  void Record(const Json& object, EventType type, const std::string& reason,
              const std::string& message);

 private:
  using Same = std::tuple<std::string, std::string, std::string>;  // uid, reason, message
  struct Known {
    std::string namespace_name;
    std::string name;
    std::int64_t count = 1;
    std::list<Same>::iterator age;
  };
  bool CountAgain(Known& known);  // false if the event is gone
  void Remember(const Same& same, const std::string& namespace_name, const std::string& name);

  Api& api_;
  const Clock& clock_;
  std::string component_;
  std::map<Same, Known> known_;
  std::list<Same> oldest_first_;
  std::uint64_t sequence_ = 0;  // keeps names apart within a microsecond
};

}  // namespace berth::local::cluster
