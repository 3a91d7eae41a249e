// local/apiserver/http/aggregator.h — group versions that other servers answer: those of
// APIServices that name a Service.
//
//     stored APIServices ─▶ Look: GET /apis/GROUP/VERSION of each server ─▶ condition Available
//                             └─▶ Entry ◀── Handle: requests; Add…: documents of discovery
//
// A request is passed on over HTTPS to the Service (service_address.h), whose certificate is
// checked for NAME.NAMESPACE.svc unless the APIService says otherwise. This server shows the client
// certificate of a front proxy, whose authority is in ConfigMap
// kube-system/extension-apiserver-authentication. The headers X-Remote-… name the user, whose
// rights this server has checked. A group version that this process answers itself is not passed
// on, whatever its APIService says.
//
// Limits: those of passed_calls.h; a server has kLookTimeout for a look; kMostEntries; the bytes of
// a document of discovery. Upgrades are refused.
//
// Threads: any; Look blocks, and runs on one thread at a time.
// Source: k8s.io/kube-aggregator pkg/apiserver, pkg/controllers/status; "Configure the Aggregation
// Layer".
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/passed_calls.h"
#include "local/apiserver/store/watch_cache.h"
#include "net/client.h"
#include "net/io_pool.h"

namespace berth::local {

class Aggregator {
 public:
  static constexpr std::size_t kMostEntries = 256;
  static constexpr Duration kLookTimeout = std::chrono::seconds(5);
  // How long the answer of a server counts; a changed APIService is looked at sooner.
  static constexpr Duration kLookAgain = std::chrono::seconds(30);
  static constexpr Duration kLookAgainFailed = std::chrono::seconds(3);

  struct Options {
    std::shared_ptr<const net::TlsIdentity> front_proxy;  // the client certificate
    // Whether this process answers the group version itself.
    std::function<bool(const std::string& group, const std::string& version)> is_own;
  };

  // Conditions are written through `api`.
  Aggregator(const WatchCache& cache, Api& api, net::IoPool& pool, Options options);
  ~Aggregator() { Stop(); }
  Aggregator(const Aggregator&) = delete;
  Aggregator& operator=(const Aggregator&) = delete;

  // Looks at new and changed APIServices, and again at servers whose last answer is too old. Blocks
  // for kLookTimeout, and for the writes of conditions.
  void Look(SteadyTime now);
  // Ends the calls that are on their way, and a Look soon. Idempotent; not to be called on an I/O
  // thread.
  void Stop();

  // Returns false if the path is not of a group version that is passed on.
  bool Handle(Exchange& exchange);
  // Adds the groups of servers that answer to an APIGroupList.
  void AddGroups(Json& list) const;
  // Adds the groups to an APIGroupDiscoveryList.
  void AddDiscovery(Json& list) const;
  // The APIGroup of a group whose versions are all passed on.
  std::optional<Json> GroupOf(const std::string& group) const;
  // Adds the documents of servers that answer to the index of OpenAPI v3.
  void AddOpenApi(Json& index) const;
  // Changes whenever one of the documents above changes.
  std::int64_t generation() const { return generation_; }

 private:
  struct Entry;
  struct Asked;
  using EntryPtr = std::shared_ptr<const Entry>;
  using Entries = std::map<std::string, EntryPtr>;  // by the name of the APIService

  Entries entries() const;
  std::optional<Entry> Read(const StoredPtr& stored) const;
  Asked Ask(Entry& entry) const;
  void Finish(Entry& entry, Asked asked) const;
  Result<net::Response> AnswerOf(std::future<Result<net::Response>>& answer) const;
  void Resolve(Entry& entry) const;
  void WriteCondition(const Entry& entry);
  EntryPtr Find(const std::string& path) const;

  const WatchCache& cache_;
  Api& api_;
  net::IoPool& pool_;
  const Options options_;
  const std::shared_ptr<PassedCalls> calls_;
  const std::shared_ptr<PassedCalls> watches_;
  std::atomic<std::int64_t> generation_ = 0;
  std::atomic<bool> is_stopped_ = false;
  mutable std::mutex mutex_;
  Entries entries_;  // guarded by mutex_
  // The revisions of the APIServices without a Service that Look has seen, by name.
  std::map<std::string, std::int64_t> plain_;  // used by Look alone
};

}  // namespace berth::local
