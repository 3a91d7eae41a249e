#include "readapi/controller/read_server.h"

#include <atomic>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "net/compression.h"
#include "net/io_pool.h"
#include "readapi/controller/open_id_provider.h"
#include "readapi/controller/read_route.h"
#include "readapi/controller/sight_reviews.h"
#include "readapi/controller/sign_in.h"
#include "readapi/openapi.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;
using ResponderPtr = std::shared_ptr<net::Responder>;

constexpr char kJson[] = "application/json";
constexpr char kApiPrefix[] = "/api/";
constexpr std::size_t kMinCompressedBytes = 16 * 1024;

std::string IndexDocument(const std::string& version) {
  Json resources = Json::array();
  for (const Resource& resource : Resources()) {
    resources.push_back({{"name", resource.name}, {"description", resource.description}});
  }
  return api::FormatJson(
             Json{{"version", version}, {"openapi", kDocumentPath}, {"resources", resources}}) +
         "\n";
}

// The API server gives the group of all users by itself.
CallerUser ImpersonatedUser(const kube::AccessUser& user) {
  CallerUser caller{.name = user.name, .groups = user.groups};
  std::erase(caller.groups, kAllUsers);
  return caller;
}

}  // namespace

struct ReadServer::Shared : std::enable_shared_from_this<Shared> {
  Shared(net::IoPool& pool, const Clock& clock, const ReadServerOptions& the_options,
         ReadSource the_source, const kube::AccessGate& the_gate,
         std::optional<SessionFolder> folder, std::shared_ptr<OpenIdProvider> open_id)
      : source(std::move(the_source)),
        gate(the_gate),
        sign_in(std::make_shared<SignIn>(
            clock, the_options.random, the_gate,
            SignIn::Options{.actions = the_options.access.actions,
                            .cluster_name = the_options.access.cluster_name,
                            .folder = std::move(folder),
                            .proxy = the_options.access.proxy,
                            .open_id = std::move(open_id)})),
        files(the_options.page),
        max_under_way(the_options.max_requests_under_way),
        has_actions(the_options.access.actions),
        index(IndexDocument(the_options.version)),
        document(OpenApiDocument(the_options.version)),
        compressor(pool.MakeStrand()),
        streams(*source.strand, clock, source.model->feed(), the_options.streams) {}

  // Large answers are compressed on a thread of the pool, beside the strand of the caches.
  void HandleCompressed(const net::Request& request, ResponderPtr responder) {
    Handle(request,
           net::CompressLargeAnswers(request, std::move(responder),
                                     {.min_bytes = kMinCompressedBytes, .executor = compressor}));
  }

  void Handle(const net::Request& request, const ResponderPtr& responder) {
    if (request.target == kSessionPath || request.target == kOpenIdPath)
      return sign_in->Handle(request, responder);
    if (request.method == "POST") {
      if (Result<ReadRoute> route = PostRouteOf(request)) {
        return HandlePost(request, *std::move(route), responder);
      }
    }
    if (request.method != "GET") {
      net::Response response = Problem(405, "only GET is allowed here");
      response.headers.Add("Allow", "GET");
      return responder->Send(std::move(response));
    }
    if (!request.target.starts_with(kApiPrefix)) return responder->Send(ReadFile(request));
    const std::string_view site = request.headers.Find("Sec-Fetch-Site");
    if (site == "cross-site") {
      return responder->Send(Problem(403, "requests of other sites are refused"));
    }
    if (request.target == kRoot) return responder->Send(Answer(200, kJson, index));
    if (request.target == kDocumentPath) return responder->Send(Answer(200, kJson, document));
    const Result<ReadRoute> route = RouteOf(request);
    if (!route) {
      return responder->Send(Problem(StatusOf(route.error().code), route.error().message));
    }
    Review(*route, sign_in->CallerOf(request), std::string(request.headers.Find("If-None-Match")),
           responder);
  }

  // What a browser sends for another site never has this type: it would be asked about first, and
  // refused. With a cookie the page names its secret, too.
  void HandlePost(const net::Request& request, ReadRoute route, const ResponderPtr& responder) {
    if (!IsOwnSite(request)) {
      return responder->Send(Problem(403, "requests of other sites are refused"));
    }
    if (!HasJson(request)) return responder->Send(Problem(415, "send application/json"));
    Caller caller = sign_in->HeadersOf(request);
    if (!caller.is_known()) {
      const std::optional<PageSession> session = sign_in->SessionOf(request);
      if (session && !HasSecretOf(*session, request)) {
        return responder->Send(Problem(403, std::string("send the header ") + kCsrfHeader));
      }
      if (session) caller.token = session->token;
    }
    if (route.caller.kind == CallerRequest::Kind::kAction && !has_actions) {
      return responder->Send(Problem(403, "actions are off: start with --read-api-actions"));
    }
    Review(route, std::move(caller), "", responder);
  }

  // `match`: the tag that the client knows.
  void Review(const ReadRoute& route, Caller caller, const std::string& match,
              const ResponderPtr& responder) {
    if (!caller.is_known()) {
      net::Response response =
          Problem(401, "send the header Authorization: Bearer TOKEN, or sign in to the page");
      response.headers.Add("WWW-Authenticate", "Bearer");
      return responder->Send(std::move(response));
    }
    if (under_way.fetch_add(1) >= max_under_way) {
      under_way.fetch_sub(1);
      return responder->Send(Problem(503, "too many requests are under way"));
    }
    auto go_on = [self = shared_from_this(), responder, route = route, match,
                  caller](SightAnswer answer) mutable {
      route.caller.token = std::move(caller.token);
      if (caller.user) route.caller.user = ImpersonatedUser(*caller.user);
      self->Continue(route, match, std::move(answer), responder);
    };
    SightRequest sights = SightsFor(route, caller);
    if (!sights.resources.empty()) return ReviewSights(gate, std::move(sights), std::move(go_on));
    ReviewUser(gate, std::move(caller), [go_on](std::optional<net::Response> refusal) mutable {
      go_on({.sights = Sights(Resources().size()), .refusal = std::move(refusal)});
    });
  }

  // A file of the page: other sites may link to the page.
  net::Response ReadFile(const net::Request& request) const {
    const std::string_view target = request.target;
    const std::size_t mark = target.find('?');
    if (mark != std::string_view::npos) {
      const Result<Parameters> parameters = ParametersOf(target.substr(mark + 1));
      const Status checked = parameters ? CheckParameters(*parameters) : Status(parameters.error());
      if (!checked) return Problem(StatusOf(checked.error().code), checked.error().message);
    }
    return files.Read(target.substr(0, mark), request);
  }

  void Continue(const ReadRoute& route, const std::string& match, SightAnswer answer,
                const ResponderPtr& responder) {
    if (answer.refusal) {
      under_way.fetch_sub(1);
      return responder->Send(*std::move(answer.refusal));
    }
    source.strand->Post([self = shared_from_this(), route, match, sights = std::move(answer.sights),
                         responder]() mutable {
      self->under_way.fetch_sub(1);
      self->Read(route, match, std::move(sights), responder);
    });
  }

  // Call it on the strand.
  void Read(const ReadRoute& route, const std::string& match, Sights sights,
            const ResponderPtr& responder) {
    if (responder->HasPeerLeft()) return;
    if (!source.is_ready()) {
      return responder->Send(Problem(503, "the caches have not synced"));
    }
    switch (route.kind) {
      case ReadRoute::Kind::kList:
        return ReadList(route, match, *sights[route.resource], responder);
      case ReadRoute::Kind::kWorkload: return ReadWorkload(route, *sights[kWorkloads], responder);
      case ReadRoute::Kind::kReport: {
        ReportQuery report = route.report;
        report.names_all = sights[kWorkloads]->everywhere;
        if (report.of == ReportQuery::Of::kCohort && source.queues_below != nullptr) {
          report.queues = source.queues_below(report.name);
        }
        return Report(report, responder);
      }
      case ReadRoute::Kind::kCaller: return AskForCaller(route, sights, responder);
      case ReadRoute::Kind::kEvents: break;
    }
    if (streams.is_full()) return responder->Send(Problem(503, "too many event streams are open"));
    const net::Response head = Answer(200, "text/event-stream", "");
    streams.Add(responder->StartStream(head.status, head.headers), std::move(sights),
                route.stream.after);
  }

  void ReadList(const ReadRoute& route, const std::string& match, const Sight& sight,
                const ResponderPtr& responder) const {
    Model::PageText page = source.model->ReadPage(route.resource, route.query, sight);
    net::Response response =
        match == page.etag ? Answer(304, kJson, "") : Answer(200, kJson, std::move(page.body));
    response.headers.Add("ETag", page.etag);
    responder->Send(std::move(response));
  }

  // The story has what the API server gives to the caller; where the API server has no answer, or
  // too many wait, what the mirror has.
  void ReadWorkload(const ReadRoute& route, const Sight& sight, const ResponderPtr& responder) {
    const std::string id = route.namespace_name + "/" + route.name;
    const auto row = source.model->ReadRow(kWorkloads, id, sight);
    if (!row) return responder->Send(Problem(404, "no such Workload"));
    if (source.caller == nullptr) return SendStory(route, *row, responder);
    CallerRequest request = route.caller;
    request.kind = CallerRequest::Kind::kStory;
    if (sight.everywhere) request.namespaces.clear();
    request.body = *row;
    request.before = BeforeOf(id);
    auto done = [self = shared_from_this(), route, row = *row,
                 head = WorkloadHead(*row, request.before),
                 responder](const Result<std::string>& text) {
      if (text) return responder->Send(Answer(200, kJson, head + text->substr(1)));
      if (text.error().code == ErrorCode::kNotFound) {
        return responder->Send(Problem(404, text.error().message));
      }
      // Whatever the API server refuses: the caller may see the row, and what the mirror tells.
      self->source.strand->Post(
          [self, route, row, responder] { self->SendStory(route, row, responder); });
    };
    source.caller(request, std::move(done), [responder] { return responder->HasPeerLeft(); });
  }

  void SendStory(const ReadRoute& route, const std::string& row,
                 const ResponderPtr& responder) const {
    const auto story = source.story(route.namespace_name, route.name);
    if (!story) return responder->Send(Problem(404, "no such Workload"));
    responder->Send(Answer(200, kJson,
                           WorkloadHead(row, BeforeOf(route.namespace_name + "/" + route.name)) +
                               R"("story":)" + *story + R"(,"pods":[],"podsLeftOut":0})" + "\n"));
  }

  // The answer up to what is reported with the rights of the caller.
  std::string WorkloadHead(const std::string& row, std::optional<std::size_t> before) const {
    return R"({"workload":)" + row + R"(,"before":)" + (before ? std::to_string(*before) : "null") +
           R"(,"forecasts":)" + HitsText() + ",";
  }

  // Waiting Workloads before this one in its ClusterQueue. The caller sees no more of them.
  std::optional<std::size_t> BeforeOf(const std::string& id) const {
    const Table& table = source.model->table(kWorkloads);
    const std::optional<std::string> queue = table.CellOf(id, "clusterQueue");
    if (!queue || *queue == R"("")") return std::nullopt;  // no LocalQueue: no place in a queue
    const Resource& resource = Resources()[kWorkloads];
    Query query;
    query.filters = {{.field = *resource.Find("clusterQueue"), .cells = {*queue}},
                     {.field = *resource.Find("state"), .cells = {"\"waiting\""}}};
    query.sort = resource.Find("turn");
    return table.CountBefore(query, id);
  }

  std::string HitsText() const {
    return source.forecast_hits == nullptr ? "null" : source.forecast_hits();
  }

  void Report(const ReportQuery& query, const ResponderPtr& responder) const {
    if (source.report == nullptr) {
      return responder->Send(
          Problem(404, "this controller writes no ledger: start it with --ledger"));
    }
    source.report(query, [responder, is_csv = query.csv](Result<std::string> text) {
      if (!text) {
        return responder->Send(Problem(StatusOf(text.error().code), text.error().message));
      }
      net::Response response = Answer(200, is_csv ? "text/csv; charset=utf-8" : kJson, *text);
      if (is_csv) response.headers.Add("Content-Disposition", "attachment; filename=report.csv");
      responder->Send(std::move(response));
    });
  }

  // Those with the right in all namespaces see all that they have not left out themselves.
  void AskForCaller(const ReadRoute& route, const Sights& sights,
                    const ResponderPtr& responder) const {
    if (source.caller == nullptr) return responder->Send(Problem(404, "this is not served here"));
    if (!route.caller.name.empty() &&
        !source.model->ReadRow(kWorkloads, route.namespace_name + "/" + route.name,
                               *sights[kWorkloads])) {
      return responder->Send(Problem(404, "no such Workload"));
    }
    auto done = [responder](Result<std::string> text) {
      responder->Send(text ? Answer(200, kJson, *std::move(text))
                           : Problem(StatusOf(text.error().code), text.error().message));
    };
    source.caller(route.caller, std::move(done), [responder] { return responder->HasPeerLeft(); });
  }

  const ReadSource source;
  const kube::AccessGate gate;
  const std::shared_ptr<SignIn> sign_in;
  const PageFiles files;
  const std::size_t max_under_way;
  const bool has_actions;
  const std::string index;
  const std::string document;
  const std::shared_ptr<Executor> compressor;
  std::atomic<std::size_t> under_way{0};
  EventStreams streams;  // on the strand
};

Result<std::unique_ptr<ReadServer>> ReadServer::Start(net::IoPool& pool, const Clock& clock,
                                                      ReadServerOptions options, ReadSource source,
                                                      const kube::AccessGate& gate) {
  net::ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.tls = options.tls;
  server.client_ca_pem = options.access.proxy.client_ca_pem;
  server.max_connections = options.max_connections;
  server.max_body_bytes = kMaxSignInBytes;
  server.max_header_bytes = 32 * 1024;
  std::optional<SessionFolder> folder;
  if (!options.access.session_folder.empty()) {
    BERTH_TRY(folder, SessionFolder::Open(options.access.session_folder));
  }
  std::shared_ptr<OpenIdProvider> open_id;
  if (!options.access.open_id.issuer.empty()) {
    BERTH_TRY(open_id, OpenIdProvider::Create(pool, clock, options.access.open_id));
  }
  auto shared = std::make_shared<Shared>(pool, clock, options, std::move(source), gate,
                                         std::move(folder), std::move(open_id));
  std::unique_ptr<ReadServer> made(new ReadServer(shared));
  BERTH_TRY(made->server_, net::HttpServer::Start(pool, std::move(server),
                                                  [shared](const net::Request& request,
                                                           const ResponderPtr& responder) {
                                                    shared->HandleCompressed(request, responder);
                                                  }));
  return made;
}

void ReadServer::Changed() { shared_->streams.Changed(); }

std::string ReadServer::MakeSignInCode(const std::string& token) {
  return shared_->sign_in->sessions().MakeCode(token);
}

}  // namespace berth::readapi
