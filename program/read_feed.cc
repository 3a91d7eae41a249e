#include "program/read_feed.h"

#include <optional>
#include <random>
#include <utility>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "net/io_pool.h"
#include "program/embedded_page.h"
#include "program/read_mirror.h"
#include "program/report_source.h"
#include "program/version.h"
#include "readapi/controller/read_server.h"

namespace berth::program {
namespace {

constexpr std::chrono::milliseconds kBetweenBatches{50};
constexpr std::size_t kSlice = 200;  // rows of one task
constexpr int kThreads = 1;

// Returns `count` random bytes from /dev/urandom.
std::string SecretBytes(std::size_t count) {
  std::random_device device("/dev/urandom");
  std::string random(count, '\0');
  for (char& c : random) c = static_cast<char>(device());
  return random;
}

MirrorPart PartFor(readapi::CallerRequest::Kind kind) {
  using Asked = readapi::CallerRequest::Kind;
  return kind == Asked::kCapacity || kind == Asked::kTopology ? MirrorPart::kMachines
                                                              : MirrorPart::kQueues;
}

// Distinguishes the lives of the process: positions in the feed of changes end with one.
std::string MakeEpoch() {
  constexpr std::size_t kBytes = 8;
  return HexEncode(SecretBytes(kBytes));
}

}  // namespace

std::string ForecastHits::Json() const {
  const auto of = [this](api::ForecastHit hit) {
    return std::to_string(starts.at(static_cast<std::size_t>(hit)).load());
  };
  return "{\"since\":\"" + FormatTime(since) + "\",\"byP10\":" + of(api::ForecastHit::kP10) +
         ",\"byP50\":" + of(api::ForecastHit::kP50) + ",\"byP90\":" + of(api::ForecastHit::kP90) +
         ",\"later\":" + of(api::ForecastHit::kLater) + "}";
}

struct ReadFeed::Reader {
  Reader(const Clock& the_clock, ReadFeedOptions options)
      : clock(the_clock),
        access(std::move(options.access)),
        hits(std::move(options.hits)),
        scheduler(options.scheduler) {
    const std::string& ledger = options.callers.ledger;
    if (!ledger.empty()) reports = std::make_unique<ReportSource>(clock, ledger);
    callers.emplace(clock, std::move(options.callers));
  }

  // Once each: TakeBatch, and Work until the next one or until nothing is left.
  void Take(const ReadBatch& batch) {
    mirror.Take(batch);
    Work();
  }

  void Work() {
    const std::uint64_t before = model.feed().revision();
    const std::optional<Duration> again = mirror.Work(kSlice);
    if (model.feed().revision() != before && listener != nullptr) listener->Changed();
    if (!again) {
      is_ready = is_ready || has_all;
      return;
    }
    // Rows of queues alone are waited for.
    if (*again > Duration::zero()) is_ready = is_ready || has_all;
    if (std::exchange(posted, true)) return;
    strand->PostAfter(*again, [this] {
      posted = false;
      Work();
    });
  }

  const Clock& clock;
  const readapi::PageAccess access;
  const std::shared_ptr<const ForecastHits> hits;
  const admission::Scheduler* const scheduler;
  net::IoPool pool{kThreads};
  std::unique_ptr<Executor> strand = pool.MakeStrand();
  readapi::Model model{MakeEpoch()};
  ReadMirror mirror{clock, model};
  std::unique_ptr<ReportSource> reports;  // null: no ledger
  std::optional<CallerScreens> callers;   // set from the constructor on
  bool has_all = false;                   // every object has come
  bool is_ready = false;                  // and is in the model
  bool posted = false;
  readapi::ReadServer* listener = nullptr;      // null until Serve
  std::unique_ptr<readapi::ReadServer> server;  // the owner's thread uses it
};

struct ReadFeed::Inbox : std::enable_shared_from_this<Inbox> {
  Inbox(kube::Manager& the_manager, Reader& the_reader) : manager(the_manager), reader(the_reader) {
    if (reader.scheduler != nullptr) turns.emplace(*reader.scheduler, reader.clock);
  }

  template <typename T>
  void Listen(kube::Informer<T>& informer, Changed<T> ReadBatch::*changed) {
    const auto put = [weak = weak_from_this(), changed](const std::shared_ptr<const T>& like,
                                                        std::shared_ptr<const T> object) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (self->batch.*changed)[like->meta.key()] = std::move(object);
      self->Post();
    };
    informer.AddHandler({.on_add = [put](const auto& object) { put(object, object); },
                         .on_update = [put](const auto&, const auto& now) { put(now, now); },
                         .on_delete = [put](const auto& object) { put(object, nullptr); }});
  }

  // Pods are read where the scheduler reads them, too: from the first Topology on.
  void ListenToPods() {
    if (std::exchange(listens_to_pods, true)) return;
    kube::Informer<api::Pod>& informer = manager.InformerFor<api::Pod>();
    Listen(informer, &ReadBatch::pods);
    informer.OnSynced([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->batch.has_all_pods = true;
      self->Post();
    });
  }

  void Post() {
    if (std::exchange(posted, true)) return;
    manager.executor().PostAfter(kBetweenBatches, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Flush();
    });
  }

  void Flush() {
    posted = false;
    const bool synced = manager.has_synced();
    if (turns) TakeTurns();
    reader.strand->Post([&to = reader, synced, changes = std::exchange(batch, ReadBatch{})] {
      to.has_all = to.has_all || synced;
      to.Take(changes);
    });
  }

  // Turns that change within QueueTurns::kEvery are looked at again after it.
  void TakeTurns() {
    for (const auto& [key, queue] : batch.cluster_queues) {
      queue == nullptr ? turns->RemoveClusterQueue(key.name) : turns->Set(queue);
    }
    for (const auto& [key, cohort] : batch.cohorts) {
      cohort == nullptr ? turns->RemoveCohort(key.name) : turns->Set(*cohort);
    }
    batch.turns = turns->Changed();
    if (batch.turns.empty() && !turns->AreLate()) return;
    if (std::exchange(looks_again, true)) return;
    manager.executor().PostAfter(QueueTurns::kEvery, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->looks_again = false;
      self->Post();
    });
  }

  kube::Manager& manager;
  Reader& reader;
  std::optional<QueueTurns> turns;  // nullopt: no scheduler
  bool looks_again = false;
  bool listens_to_pods = false;
  ReadBatch batch;
  bool posted = false;
};

ReadFeed::ReadFeed(const Clock& clock, ReadFeedOptions options)
    : reader_(std::make_unique<Reader>(clock, std::move(options))) {}
ReadFeed::~ReadFeed() { Stop(); }

void ReadFeed::Start(kube::Manager& manager) {
  inbox_ = std::make_shared<Inbox>(manager, *reader_);
  inbox_->Listen(manager.InformerFor<api::Workload>(), &ReadBatch::workloads);
  inbox_->Listen(manager.InformerFor<api::LocalQueue>(), &ReadBatch::local_queues);
  inbox_->Listen(manager.InformerFor<api::ClusterQueue>(), &ReadBatch::cluster_queues);
  inbox_->Listen(manager.InformerFor<api::Cohort>(), &ReadBatch::cohorts);
  inbox_->Listen(manager.OptionalInformerFor<api::ProvisioningRequest>(), &ReadBatch::requests);
  inbox_->Listen(manager.OptionalInformerFor<api::Node>(), &ReadBatch::nodes);
  if (manager.HasInformer(api::KindOf<api::Topology>())) {
    manager.InformerFor<api::Topology>().AddHandler(
        {.on_add = [weak = std::weak_ptr(inbox_)](const auto& /*topology*/) {
          if (const auto inbox = weak.lock()) inbox->ListenToPods();
        }});
  }
  manager.OnSynced([weak = std::weak_ptr(inbox_)] {
    if (const auto inbox = weak.lock()) inbox->Post();
  });
}

Status ReadFeed::Serve(const ListenAddress& address, std::shared_ptr<const net::TlsIdentity> tls,
                       const kube::AccessGate& gate) {
  readapi::ReadServerOptions options;
  options.address = address.host;
  options.port = address.port;
  options.tls = std::move(tls);
  options.version = kVersion;
  options.page = EmbeddedPage();
  options.random = SecretBytes;
  Reader& reader = *reader_;
  options.access = reader.access;
  readapi::ReadSource source{
      .strand = reader.strand.get(),
      .model = &reader.model,
      .is_ready = [&reader] { return reader.is_ready; },
      .story = [&reader](const std::string& space,
                         const std::string& name) { return reader.mirror.Story(space, name); }};
  if (reader.hits != nullptr) {
    source.forecast_hits = [hits = reader.hits] { return hits->Json(); };
  }
  source.caller = [&reader](const readapi::CallerRequest& request, CallerScreens::Done done,
                            CallerScreens::HasLeft has_left) {
    const auto objects = [&reader, &request] {
      return request.kind == readapi::CallerRequest::Kind::kLocations
                 ? reader.mirror.WorkloadsOf(request.workloads)
                 : reader.mirror.Objects(PartFor(request.kind));
    };
    reader.callers->Ask(request, objects, std::move(done), std::move(has_left));
  };
  source.queues_below = [&reader](const std::string& cohort) {
    return reader.mirror.QueuesBelow(cohort);
  };
  if (reader.reports != nullptr) {
    source.report = [reports = reader.reports.get()](const readapi::ReportQuery& query,
                                                     ReportSource::Done done) {
      reports->Ask(query, std::move(done));
    };
  }
  BERTH_TRY(reader.server, readapi::ReadServer::Start(reader.pool, reader.clock, std::move(options),
                                                      std::move(source), gate));
  reader.strand->Post([&reader, server = reader.server.get()] { reader.listener = server; });
  return OkStatus();
}

Status ReadFeed::ReplaceTls(const std::shared_ptr<const net::TlsIdentity>& tls) {
  return reader_->server == nullptr ? OkStatus() : reader_->server->ReplaceTls(tls);
}

std::uint16_t ReadFeed::port() const {
  return reader_->server == nullptr ? std::uint16_t{0} : reader_->server->port();
}

std::string ReadFeed::MakeSignInCode(const std::string& token) {
  return reader_->server == nullptr ? "" : reader_->server->MakeSignInCode(token);
}

void ReadFeed::Stop() {
  if (reader_->server != nullptr) reader_->server->Stop();
  if (reader_->reports != nullptr) reader_->reports->Stop();
  reader_->callers->Stop();
  reader_->pool.Stop();
}

}  // namespace berth::program
