// program/read_feed.h — serves /api/v1 and the page from the informers of the controllers.
//
//     informers ─ changes, coalesced by object ─▶ (50 ms) ─▶ strand of its own: ReadMirror ─▶ Model
//                                                               └─▶ ReadServer: pages, events
//
// The strand that makes decisions only stores a pointer for each change; all other work is on a
// thread of this class. The only requests to the API are reviews of rights, and requests with the
// caller's own token (program/caller_screens.h).
//
// Threads: the owner's; Start before the informers start, on their strand; Stop before the manager
// is destroyed, not on its strand.
// Errors of Serve: as net::HttpServer::Start.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "admission/scheduler.h"
#include "api/start_forecast.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics_server.h"
#include "net/server.h"
#include "program/caller_screens.h"
#include "program/listen_address.h"
#include "readapi/controller/page_access.h"

namespace berth::program {

// Counts starts since `since`, by the quantile of the wait's first forecast that held.
// Threads: any.
struct ForecastHits {
  WallTime since{};
  std::array<std::atomic<std::int64_t>, 4> starts{};  // by api::ForecastHit

  void Count(api::ForecastHit hit) { ++starts.at(static_cast<std::size_t>(hit)); }
  std::string Json() const;  // readapi's form ForecastHits
};

struct ReadFeedOptions {
  CallerScreensOptions callers;  // also names the ledger's file, from which reports are made
  readapi::PageAccess access;
  std::shared_ptr<const ForecastHits> hits;  // null: forecasts are not compared with starts
  // The source of the queues' own orders; null: all queues show the order by priority and time.
  const admission::Scheduler* scheduler = nullptr;
};

class ReadFeed {
 public:
  ReadFeed(const Clock& clock, ReadFeedOptions options);
  ~ReadFeed();
  ReadFeed(const ReadFeed&) = delete;
  ReadFeed& operator=(const ReadFeed&) = delete;

  // Listens to the informers. On the manager's strand.
  void Start(kube::Manager& manager);
  Status Serve(const ListenAddress& address, std::shared_ptr<const net::TlsIdentity> tls,
               const kube::AccessGate& gate);
  Status ReplaceTls(const std::shared_ptr<const net::TlsIdentity>& tls);
  std::uint16_t port() const;  // 0: not served
  // Does what readapi::ReadServer does; empty: not served.
  std::string MakeSignInCode(const std::string& token);
  void Stop();  // idempotent

 private:
  struct Inbox;   // on the manager's strand
  struct Reader;  // on the strand of its own

  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace berth::program
