// provisioning/controller/spend_keeper.h — keeps the spend memory (spend.h) in one ConfigMap for
// each LocalQueue with a budget of the day.
//
//     berth-spend-3f2a9c01d4e5b678 in the controller's namespace
//
// A charge is written before its request is made: no crash forgets it. Meters of nodes (meter.h)
// are written with the charges, or when a caller asks for it: nothing waits for them. A write names
// the resourceVersion that was read; where another process has written meanwhile both memories are
// joined. Without the right to read or write the ConfigMap the memory lives as long as the process;
// the log says so.
//
// Threads: one Executor, that of the manager. Errors: of the API, for the work queue to retry.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/api_client.h"
#include "provisioning/spend.h"

namespace berth::provisioning {

// The name of the ConfigMap of the queue (namespace/name).
std::string SpendConfigMapName(const std::string& queue);

class SpendKeeper {
 public:
  using Done = std::function<void(Status)>;

  SpendKeeper(kube::ApiClient& client, std::string namespace_name);
  SpendKeeper(const SpendKeeper&) = delete;
  SpendKeeper& operator=(const SpendKeeper&) = delete;

  const SpendMemory& memory() const { return memory_; }
  // Whether the queue's memory is read and written.
  bool IsSettled(const std::string& queue) const;
  // Reads or writes what is missing, then calls `done`.
  void Settle(const std::string& queue, Done done);
  // Precondition: the queue's memory is read. Settle writes the charge.
  void Record(const Charge& charge);

  bool IsLoaded(const std::string& queue) const;
  // Precondition of a change: the queue's memory is read. NoteMeters lets Settle write the change.
  MeterMemory& meters() { return memory_.meters(); }
  void NoteMeters(const std::string& queue);

 private:
  struct Kept {
    bool loaded = false;
    bool dirty = false;
    bool metered = false;  // a meter has changed since the last write
    bool writing = false;
    std::vector<Done> waiting;     // callbacks that wait for the write under way
    bool forbidden = false;        // kept in memory alone
    std::string resource_version;  // empty: the ConfigMap does not exist
  };

  void Load(const std::string& queue, Done done);
  void Write(const std::string& queue, Done done);
  void Take(const std::string& queue, const kube::Json& object);
  void TakeMeters(const std::string& queue, const kube::Json& object);
  Status Written(const std::string& queue, const Result<kube::JsonPtr>& answer);
  Status Forbidden(Kept& kept, const std::string& queue, const Error& error);

  kube::ApiClient& client_;
  const std::string namespace_name_;
  SpendMemory memory_;
  std::map<std::string, Kept> kept_;
  std::shared_ptr<SpendKeeper*> self_;  // weak copies in callbacks: null after destruction
};

}  // namespace berth::provisioning
