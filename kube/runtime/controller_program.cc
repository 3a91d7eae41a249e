#include "kube/runtime/controller_program.h"

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "base/log/log.h"
#include "base/seed.h"
#include "base/strings.h"
#include "kube/client/counting_transport.h"
#include "kube/client/read_only_transport.h"
#include "kube/runtime/runtime_metrics.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::kube {
namespace {

constexpr std::chrono::seconds kReleaseTimeout{2};
constexpr std::chrono::seconds kFlushTimeout{3};
constexpr char kDroppedEvents[] = "berth_dropped_events_total";
constexpr std::chrono::milliseconds kPollInterval{10};
constexpr std::chrono::seconds kReviewTimeout{10};

const char* ReasonOf(EventRecorder::Dropped why) {
  switch (why) {
    case EventRecorder::Dropped::kBudget: return "budget";
    case EventRecorder::Dropped::kQueue: return "queue";
    case EventRecorder::Dropped::kRefused: return "refused";
  }
  return "";
}

void CountDrops(EventRecorder& events, Metrics& metrics) {
  for (const auto why : {EventRecorder::Dropped::kBudget, EventRecorder::Dropped::kQueue,
                         EventRecorder::Dropped::kRefused}) {
    metrics.Increment(kDroppedEvents, {{"reason", ReasonOf(why)}}, 0);
  }
  events.OnDrop([&metrics](EventRecorder::Dropped why) {
    metrics.Increment(kDroppedEvents, {{"reason", ReasonOf(why)}});
  });
}

}  // namespace

struct ControllerProgram::Impl {
  Impl(const Clock& the_clock, ControllerProgramOptions the_options)
      : clock(the_clock), options(std::move(the_options)), pool(options.io_threads) {}

  // Returns `inner` with the limit of requests, which `limited_transport` then owns; else `inner`.
  Transport& Limited(Transport& inner, std::unique_ptr<Transport>& limited_transport);
  void Start(std::function<void(const std::string& holder)> on_lost);
  std::string Missing() const;                // for /readyz; any thread
  AccessGate GateOf(AccessReviews& reviews);  // for any thread

  void AddRuntimeMetrics();

  const Clock& clock;
  ControllerProgramOptions options;
  RuntimeStats stats{clock};
  net::IoPool pool;
  std::unique_ptr<Executor> strand = pool.MakeStrand();
  std::unique_ptr<Transport> wire;
  std::unique_ptr<Transport> counted;
  // The limit of requests; null: no limit. The lease and reviews of /metrics are outside it: a
  // lease that waits for its turn is lost.
  std::shared_ptr<TokenBucket> bucket;
  std::unique_ptr<Transport> read_only;  // null: writes are sent
  std::unique_ptr<Transport> limited;
  std::unique_ptr<ApiClient> client;
  // If there is leader election: the fence of the controllers' writes.
  std::unique_ptr<LeaderFence> fence;
  std::unique_ptr<Transport> limited_fence;  // the limit is outside: the fence looks when it sends
  std::unique_ptr<ApiClient> fenced_client;
  std::unique_ptr<EventRecorder> events;
  std::unique_ptr<Manager> manager;
  std::unique_ptr<ApiClient> lease_client;
  std::unique_ptr<LeaderElector> elector;
  Metrics metrics;
  // The client for reviews of /metrics; its own, because a scrape waits less than a controller.
  std::unique_ptr<ApiClient> review_client;
  // Separate budgets of access reviews, so that requests for /metrics cannot use up those of the
  // extension API.
  std::unique_ptr<AccessReviews> metrics_reviews;
  std::unique_ptr<AccessReviews> extension_reviews;
  std::unique_ptr<AccessReviews> owner_reviews;  // the reviews of MakeGate
  bool metrics_over_tls = false;
  std::unique_ptr<net::HttpServer> metrics_server;
  std::unique_ptr<ExtensionServer> extension;
  std::unique_ptr<FrontProxyKeeper> front_proxy;  // on the strand
  std::unique_ptr<net::HttpServer> health;
  std::atomic<bool> running{false};  // controllers are started
  std::atomic<bool> stopped{false};
  std::atomic<bool> synced{false};
  std::atomic<bool> confirmed{options.not_ready_before.empty()};
};

Transport& ControllerProgram::Impl::Limited(Transport& inner,
                                            std::unique_ptr<Transport>& limited_transport) {
  if (bucket == nullptr) return inner;
  limited_transport = LimitRequests(inner, *strand, clock, bucket);
  return *limited_transport;
}

std::string ControllerProgram::Impl::Missing() const {
  if (stopped) return "stopping";
  if (!synced) return "the caches have not synced";
  return confirmed ? std::string() : options.not_ready_before;
}

AccessGate ControllerProgram::Impl::GateOf(AccessReviews& reviews) {
  return [this, &reviews](AccessQuestion question, AccessReviews::Done done) {
    strand->Post([&reviews, question = std::move(question), done = std::move(done)]() mutable {
      reviews.Ask(std::move(question), std::move(done));
    });
  };
}

void ControllerProgram::Impl::AddRuntimeMetrics() {
  RuntimeMetricsOptions runtime;
  const std::string& server = options.config.server;
  const std::size_t scheme = server.find("://");
  runtime.host = scheme == std::string::npos ? server : server.substr(scheme + 3);
  runtime.host = runtime.host.substr(0, runtime.host.find('/'));
  if (options.leader_election) runtime.lease = options.leader_election->lease.name;
  metrics.AddSource([this, runtime] { return RuntimeMetricsText(stats, runtime, running.load()); });
}

void ControllerProgram::Impl::Start(std::function<void(const std::string& holder)> on_lost) {
  manager->OnLeaderStart([this] {
    if (!options.read_only) CountDrops(*events, metrics);
    running = true;
  });
  manager->OnLeaderStop([this] { running = false; });
  manager->StartInformers();
  if (!options.leader_election) return manager->StartControllers();
  options.leader_election->identity = options.identity;
  elector = std::make_unique<LeaderElector>(
      *lease_client, clock, *options.leader_election, [this] { manager->TakeOver(); },
      [this, lost = std::move(on_lost)] {
        manager->Stop();
        lost(elector->holder());
      });
  elector->Start();
}

ControllerProgram::ControllerProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControllerProgram::~ControllerProgram() { Stop(); }

Result<std::unique_ptr<ControllerProgram>> ControllerProgram::Create(
    const Clock& clock, ControllerProgramOptions options) {
  auto impl = std::make_unique<Impl>(clock, std::move(options));
  const ControllerProgramOptions& made = impl->options;
  BERTH_TRY(impl->wire, MakeHttpTransport(impl->pool, *impl->strand, made.config, made.transport));
  impl->counted =
      CountAnswers(*impl->wire, [&stats = impl->stats](const auto& method, const auto& code) {
        stats.OnRequest(method, code);
      });
  impl->AddRuntimeMetrics();
  if (made.request_limit) {
    impl->bucket = std::make_shared<TokenBucket>(*made.request_limit, clock.SteadyNow());
  }
  if (made.read_only) impl->read_only = ReadOnly(*impl->counted, *impl->strand);
  Transport& outward = impl->read_only == nullptr ? *impl->counted : *impl->read_only;
  impl->client = std::make_unique<ApiClient>(impl->Limited(outward, impl->limited), *impl->strand);
  impl->lease_client = std::make_unique<ApiClient>(*impl->counted, *impl->strand);
  impl->events = std::make_unique<EventRecorder>(
      *impl->client, clock,
      EventRecorder::Options{
          .controller = made.event_controller,
          .instance = made.identity,
          .seed =
              SeedFrom(made.identity + std::to_string(clock.Now().time_since_epoch().count()))});
  impl->review_client = std::make_unique<ApiClient>(
      *impl->counted, *impl->strand, ApiClient::Options{.request_timeout = kReviewTimeout});
  impl->metrics_reviews = std::make_unique<AccessReviews>(*impl->review_client, clock);
  impl->extension_reviews = std::make_unique<AccessReviews>(*impl->review_client, clock);
  if (made.leader_election) {
    impl->fence =
        std::make_unique<LeaderFence>(*impl->counted, *impl->strand, clock, [program = impl.get()] {
          return program->elector == nullptr ? WriteWindow{} : program->elector->write_window();
        });
    impl->fenced_client = std::make_unique<ApiClient>(
        impl->Limited(*impl->fence, impl->limited_fence), *impl->strand);
  }
  impl->manager = std::make_unique<Manager>(
      impl->fenced_client ? *impl->fenced_client : *impl->client, *impl->strand, &impl->stats);
  impl->manager->OnSynced([program = impl.get()] { program->synced = true; });
  if (made.health) {
    BERTH_TRY(impl->health, StartHealthServer(impl->pool, *made.health, [program = impl.get()] {
                return program->Missing();
              }));
  }
  return std::unique_ptr<ControllerProgram>(new ControllerProgram(std::move(impl)));
}

Manager& ControllerProgram::manager() { return *impl_->manager; }
ApiClient& ControllerProgram::client() { return *impl_->client; }
EventRecorder& ControllerProgram::events() { return *impl_->events; }
Metrics& ControllerProgram::metrics() { return impl_->metrics; }
std::uint16_t ControllerProgram::health_port() const {
  return impl_->health == nullptr ? std::uint16_t{0} : impl_->health->port();
}

std::uint16_t ControllerProgram::metrics_port() const {
  return impl_->metrics_server == nullptr ? std::uint16_t{0} : impl_->metrics_server->port();
}

Status ControllerProgram::ServeMetrics(MetricsServerOptions options) {
  impl_->metrics_over_tls = options.tls != nullptr;
  AccessGate gate;
  if (impl_->metrics_over_tls) gate = impl_->GateOf(*impl_->metrics_reviews);
  BERTH_TRY(impl_->metrics_server,
            StartMetricsServer(impl_->pool, std::move(options), impl_->metrics, std::move(gate)));
  return OkStatus();
}

std::uint16_t ControllerProgram::extension_port() const {
  return impl_->extension == nullptr ? std::uint16_t{0} : impl_->extension->port();
}

Status ControllerProgram::ServeExtension(ExtensionServerOptions options, ExtensionApi api) {
  Impl* impl = impl_.get();
  BERTH_TRY(impl->extension, ExtensionServer::Start(impl->pool, std::move(options), std::move(api),
                                                    impl->GateOf(*impl->extension_reviews)));
  RunOnStrand([impl] {
    impl->front_proxy = std::make_unique<FrontProxyKeeper>(
        *impl->review_client, FrontProxyKeeper::Options{}, [impl](const FrontProxyTrust& trust) {
          if (const Status used = impl->extension->UseFrontProxy(trust); !used) {
            LogWarning("the certificate authority of kube-apiserver's proxy",
                       {{"error", used.error().message}});
          }
        });
  });
  return OkStatus();
}

AccessGate ControllerProgram::MakeGate() {
  // Many users have a page open: more answers are kept, and more reviews may run.
  constexpr std::size_t kMostKept = 4096;
  constexpr std::size_t kMostUnderWay = 32;
  constexpr std::chrono::seconds kKeep{10};
  impl_->owner_reviews =
      std::make_unique<AccessReviews>(*impl_->review_client, impl_->clock,
                                      AccessReviews::Options{.keep_allowed = kKeep,
                                                             .keep_refused = kKeep,
                                                             .max_kept = kMostKept,
                                                             .max_under_way = kMostUnderWay});
  return impl_->GateOf(*impl_->owner_reviews);
}

Status ControllerProgram::ReplaceServingTls(const std::shared_ptr<const net::TlsIdentity>& tls) {
  if (impl_->extension != nullptr) BERTH_CHECK_OK(impl_->extension->ReplaceTls(tls));
  if (!impl_->metrics_over_tls || impl_->metrics_server == nullptr) return OkStatus();
  return impl_->metrics_server->ReplaceTls(tls);
}

void ControllerProgram::ConfirmReady() { impl_->confirmed = true; }

void ControllerProgram::StartInformers() {
  impl_->strand->Post([impl = impl_.get()] { impl->manager->StartInformers(); });
}

void ControllerProgram::Start(std::function<void(const std::string& holder)> on_lost) {
  impl_->strand->Post(
      [impl = impl_.get(), lost = std::move(on_lost)]() mutable { impl->Start(std::move(lost)); });
}

Status ControllerProgram::WaitUntilRunning(Duration timeout) {
  const SteadyTime end = impl_->clock.SteadyNow() + timeout;
  while (!impl_->running) {
    if (impl_->clock.SteadyNow() >= end) {
      std::vector<std::string> missing;
      std::string holder;
      RunOnStrand([&] {
        missing = impl_->manager->NotSynced();
        if (impl_->elector != nullptr) holder = impl_->elector->holder();
      });
      return Error{ErrorCode::kDeadlineExceeded, missing.empty()
                                                     ? "another replica leads: " + holder
                                                     : "could not list " + Join(missing, ", ")};
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return OkStatus();
}

bool ControllerProgram::RunOnStrand(const std::function<void()>& task) {
  if (impl_->stopped) return false;
  std::promise<void> done;
  impl_->strand->Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
  return true;
}

void ControllerProgram::Stop() {
  if (impl_->stopped.exchange(true)) return;
  const SteadyTime begun = impl_->clock.SteadyNow();
  auto released = std::make_shared<std::promise<void>>();
  auto flushed = std::make_shared<std::promise<void>>();
  impl_->strand->Post([impl = impl_.get(), released, flushed] {
    impl->manager->Stop();
    impl->front_proxy.reset();
    const auto flush = [impl, flushed] {
      impl->events->Flush([flushed] { flushed->set_value(); });
    };
    if (impl->elector == nullptr) {
      released->set_value();
      return flush();
    }
    impl->fence->Close([impl, released, flush] {
      flush();  // the last decisions are written, and have made their events
      impl->elector->Release([released] { released->set_value(); });
    });
  });
  released->get_future().wait_for(kReleaseTimeout);
  flushed->get_future().wait_for(begun + kFlushTimeout - impl_->clock.SteadyNow());
  if (impl_->metrics_server != nullptr) impl_->metrics_server->Stop();
  if (impl_->extension != nullptr) impl_->extension->Stop();
  if (impl_->health != nullptr) impl_->health->Stop();
  impl_->pool.Stop();
  if (const std::size_t left = impl_->events->queued(); left > 0) {
    LogWarning("events were not written before the end", {{"events", std::to_string(left)}});
  }
}

}  // namespace berth::kube
