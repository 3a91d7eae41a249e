// local/cluster/event_recorder.h — core/v1 Events of one component; repeats only raise the count.
//
// Events report, they never decide: nobody waits for their write, one that cannot be written is
// logged and forgotten, and what exceeds the queue is dropped.
//
// Threads: Record from one thread; writes are tasks of the Executor given. Destroy it when that
// Executor has stopped, or in one of its tasks.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

enum class EventType { kNormal, kWarning };

class EventRecorder {
 public:
  EventRecorder(Api& api, const Clock& clock, Executor& writes, std::string component);

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
  void Write(const Same& same, Json event);
  bool CountAgain(Known& known, const Json& event);  // false if the event is gone
  void Remember(const Same& same, const std::string& namespace_name, const std::string& name);

  Api& api_;
  const Clock& clock_;
  Executor& writes_;
  const std::string component_;
  std::atomic<int> waiting_count_ = 0;
  // Touched by the tasks of writes_ only:
  std::map<Same, Known> known_;
  std::list<Same> oldest_first_;
  std::uint64_t sequence_ = 0;  // keeps names apart within a microsecond
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster
