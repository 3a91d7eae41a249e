// provisioning/controller/stock_keeper.h — keeps the stock memory (stock.h) in one ConfigMap for
// each provisioning class: read before the first decision about the class, written behind.
//
//     berth-stock-queued-provisioning.gke.io   in the controller's namespace
//
// A crash loses the outcomes of the last seconds, never a decision: the memory only says what to
// pass over. The writer is the leader. A write names the resourceVersion that was read; where
// another process has written meanwhile both memories are joined, so that a leader that is deposed
// while it writes takes nothing back. Without the right to read or write the ConfigMap the memory
// lives as long as the process; the log says so.
//
// Threads: one Executor, that of the manager. Errors: Load reports an error of the API that may
// pass.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "kube/client/api_client.h"
#include "provisioning/stock.h"

namespace berth::provisioning {

struct StockKeeperOptions {
  std::string namespace_name = "kueue-system";
  Duration write_delay = std::chrono::seconds(5);  // outcomes of that time are written together
  Duration retry_delay = std::chrono::minutes(1);  // after a failed write
  // Called with a class whose memory was read or has changed; null: not called.
  std::function<void(const std::string& provisioning_class, const api::ClassStock&)> changed;
};

// The name of the class's ConfigMap, at most 253 bytes.
std::string StockConfigMapName(const std::string& provisioning_class);

class StockKeeper {
 public:
  StockKeeper(kube::ApiClient& client, StockKeeperOptions options);
  StockKeeper(const StockKeeper&) = delete;
  StockKeeper& operator=(const StockKeeper&) = delete;

  const StockMemory& memory() const { return memory_; }
  bool IsLoaded(const std::vector<std::string>& classes) const;
  // Reads what is missing, then calls `done`: kUnavailable and the like mean "try again".
  void Load(const std::vector<std::string>& classes, std::function<void(Status)> done);
  // Records the outcome at once, and writes it soon. Precondition: its class is loaded.
  void Record(const StockLesson& lesson);

 private:
  struct Kept {
    bool loaded = false;
    bool dirty = false;
    bool writing = false;          // a write is due or under way
    std::string resource_version;  // empty: the ConfigMap does not exist
  };

  void Take(const std::string& provisioning_class, const kube::Json& object);
  void WriteAfter(const std::string& provisioning_class, Duration delay);
  void Write(const std::string& provisioning_class);
  void Written(const std::string& provisioning_class, const Result<kube::JsonPtr>& answer);
  void ReadAgain(const std::string& provisioning_class);

  kube::ApiClient& client_;
  const StockKeeperOptions options_;
  StockMemory memory_;
  std::map<std::string, Kept> kept_;
  std::shared_ptr<StockKeeper*> self_;  // weak copies in callbacks: null after destruction
};

}  // namespace berth::provisioning
