// readapi/controller/read_server.h — the HTTPS server of /api/v1.
//
//     request ─ path, query? ─▶ token, proxy, cookie ─▶ ReviewSights ─▶ strand: Model ─┐
//         └─ 400, 403, 404, 405   └─ 401                  └─ 401, 403, 503             │
//                                                             answer, or stream ◀──────┘
//
//     GET /api/v1                       the resources
//     GET /api/v1/openapi.json          the document; both tell no secrets and need no token
//     GET /api/v1/RESOURCE?…            a page (query.h); ETag, If-None-Match
//     GET /api/v1/workloads/NS/NAME     one Workload with the causal chain of its state, told with
//                                       the rights of the token
//     GET /api/v1/events?…              server-sent events (event_streams.h); Last-Event-ID
//     GET /api/v1/reports?…             the accounts of a period, as `berth report`
//     GET /api/v1/history…, …/capacity/history, …/workloads/NS/NAME/history
//                                       what the ledger has of queues, Cohorts, capacity, turns
//     GET /api/v1/capacity, …/topology, …/locations, …/workloads/NS/NAME/cost
//                                       with the rights of the token (caller.h)
//     POST /api/v1/whatif               two forecasts; nothing is written
//     POST /api/v1/actions              one write with the rights of the token; off by default
//     …   /api/v1/session               sign-in of the page (sign_in.h)
//     GET /…                            the files of the page (page_files.h), for everybody
//
// A token in the URL is refused. Requests that a browser sends for another site are refused
// (Sec-Fetch-Site); no CORS header is ever sent. No text of a request is in a header of an answer.
//
// Threads: `gate` as in metrics_server.h; the members of ReadSource are used on its strand alone.
// Start and Stop by the owner. Errors of Start: as net::HttpServer::Start,
// SessionFolder::Open and OpenIdProvider::Create.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/runtime/metrics_server.h"
#include "net/server.h"
#include "readapi/caller.h"
#include "readapi/controller/event_streams.h"
#include "readapi/controller/page_access.h"
#include "readapi/controller/page_files.h"
#include "readapi/controller/page_sessions.h"
#include "readapi/model.h"
#include "readapi/query.h"

namespace berth::readapi {

// The data that is served. All of it belongs to `strand`, and outlives the server's tasks there.
struct ReadSource {
  Executor* strand = nullptr;
  const Model* model = nullptr;
  std::function<bool()> is_ready;  // every object has been read
  // The story of a Workload that exists, as a JSON object.
  std::function<std::optional<std::string>(const std::string& namespace_name,
                                           const std::string& name)>
      story;
  // The outcomes of forecasts of starts, as the JSON object ForecastHits; null: forecasts are not
  // judged.
  std::function<std::string()> forecast_hits = nullptr;
  // Gives `done` the text of a report, on any thread; null: there is no ledger. Errors of `done`:
  // kTooManyRequests; kInvalid where the period has too much; those of ledger::LedgerReader.
  std::function<void(const ReportQuery& query, std::function<void(Result<std::string>)> done)>
      report = nullptr;
  // The names of the ClusterQueues below a Cohort; null: none is known.
  std::function<std::vector<std::string>(const std::string& cohort)> queues_below = nullptr;
  // Gives `done` a JSON text, on any thread; called on the strand; null: not served. Errors of
  // `done`: those of the API server for this token; kTooManyRequests. `has_left`: whether the
  // client has stopped waiting for the answer; any thread.
  std::function<void(const CallerRequest& request, std::function<void(Result<std::string>)> done,
                     std::function<bool()> has_left)>
      caller = nullptr;
};

struct ReadServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                       // 0: any free port
  std::shared_ptr<const net::TlsIdentity> tls;  // not null
  std::size_t max_connections = 1024;
  std::size_t max_requests_under_way = 64;  // without streams
  std::string version;                      // the program's version
  EventStreams::Options streams = {};
  std::vector<PageFile> page = {};  // the texts outlive the server
  // Gives as many bytes as it is asked for, of a source for secrets; not null. Any thread.
  PageSessions::RandomBytes random;
  PageAccess access = {};
};

class ReadServer {
 public:
  static Result<std::unique_ptr<ReadServer>> Start(net::IoPool& pool, const Clock& clock,
                                                   ReadServerOptions options, ReadSource source,
                                                   const kube::AccessGate& gate);
  ~ReadServer() { Stop(); }
  ReadServer(const ReadServer&) = delete;
  ReadServer& operator=(const ReadServer&) = delete;

  std::uint16_t port() const { return server_->port(); }
  Status ReplaceTls(std::shared_ptr<const net::TlsIdentity> tls) {
    return server_->ReplaceTls(std::move(tls));
  }
  // The model has changed. On the strand.
  void Changed();
  // A code that signs a browser in once, with the rights of `token`. Any thread.
  std::string MakeSignInCode(const std::string& token);
  void Stop() { server_->Stop(); }

 private:
  struct Shared;  // includes the requests that are under way
  explicit ReadServer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace berth::readapi
