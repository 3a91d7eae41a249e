#include "scenarios/world/sim_world.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "base/strings.h"
#include "local/apiserver/registry/registry.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/cluster.h"
#include "scenarios/world/embedded_api.h"
#include "scenarios/world/sim_request.h"
#include "scenarios/world/sim_runner.h"
#include "scenarios/world/sim_webhooks.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;
using local::Json;

constexpr Duration kQuiet = std::chrono::seconds(1);
constexpr Duration kSettleLimit = std::chrono::minutes(1);

// The folder of pods' files; in memory if possible, since stories create thousands.
fs::path TemporaryFolder() {
  std::error_code error;
  const fs::path memory = "/dev/shm";
  return fs::is_directory(memory, error) && access(memory.c_str(), W_OK) == 0
             ? memory
             : fs::temp_directory_path();
}

}  // namespace

struct SimWorld::Parts {
  std::string folder;  // for the pods' files
  SimWebhooks webhooks;
  std::unique_ptr<EmbeddedApi> embedded;
  std::unique_ptr<SimRunner> runner;
  std::unique_ptr<local::cluster::Cluster> cluster;
  std::unique_ptr<local::cloud::CloudDriver> cloud;
  std::unique_ptr<SimControllers> controllers;

  ~Parts() {
    controllers.reset();
    cloud.reset();
    cluster.reset();
    runner.reset();
    embedded.reset();
    std::error_code error;
    if (!folder.empty()) fs::remove_all(folder, error);
  }
};

SimWorld::SimWorld(SimWorldOptions options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>()) {}

SimWorld::~SimWorld() = default;

Result<std::unique_ptr<SimWorld>> SimWorld::Start(SimWorldOptions options) {
  std::unique_ptr<SimWorld> world(new SimWorld(std::move(options)));
  BERTH_CHECK_OK(world->Open());
  return world;
}

Status SimWorld::Open() {
  std::string pattern = (TemporaryFolder() / "berth-sim-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::kUnavailable, "no temporary folder"};
  }
  Parts& parts = *parts_;
  parts.folder = pattern;
  BERTH_TRY(parts.embedded, EmbeddedApi::Start(clock_, {.seed = options_.seed,
                                                        .deliver_on = &executor_,
                                                        .webhooks = &parts.webhooks}));
  store().AddListener([this](const std::vector<local::EventPtr>& events) {
    for (const local::EventPtr& event : events) {
      if (event->object->key().resource != "leases.coordination.k8s.io") ++writes_;
    }
  });
  parts.runner = std::make_unique<SimRunner>(executor_);
  local::cluster::ClusterOptions cluster;
  cluster.data_folder = parts.folder;
  cluster.programs = {{kSimImage, kSimProgram}};
  cluster.runner = parts.runner.get();
  BERTH_TRY(parts.cluster, local::cluster::Cluster::Start(api(), clock_, executor_, cluster));
  parts.cloud = std::make_unique<local::cloud::CloudDriver>(api(), parts.cluster->cache(), clock_,
                                                            executor_, options_.cloud_times);
  parts.controllers = std::make_unique<SimControllers>(*parts.embedded, parts.webhooks, executor_,
                                                       clock_, options_.controllers);
  BERTH_CHECK_OK(parts.controllers->Start());
  Settle();
  // Stories begin at a whole second: the API cuts times to seconds.
  RunFor(std::chrono::ceil<std::chrono::seconds>(clock_.Now()) - clock_.Now());
  started_at_ = clock_.Now();
  return OkStatus();
}

local::WholeApi& SimWorld::api() { return parts_->embedded->api(); }
local::Store& SimWorld::store() { return parts_->embedded->store(); }
SimControllers& SimWorld::controllers() { return *parts_->controllers; }

bool SimWorld::RunUntil(const std::function<bool()>& holds, Duration limit) {
  return executor_.RunUntil(holds, limit);
}

void SimWorld::Settle() {
  const SteadyTime end = clock_.SteadyNow() + kSettleLimit;
  while (clock_.SteadyNow() < end) {
    const std::int64_t before = writes();
    RunFor(kQuiet);
    if (writes() == before) return;
  }
}

kube::ApiResponse SimWorld::Get(const std::string& path) {
  return Answer(parts_->embedded->registry(), {"GET", path, "", nullptr});
}

std::int64_t SimWorld::revision() const { return parts_->embedded->store().cache().revision(); }

std::uint64_t SimWorld::trace_hash() const {
  return (executor_.trace_hash() ^ static_cast<std::uint64_t>(revision())) * 0x100000001B3U;
}

std::optional<local::WholeApi::KindInfo> SimWorld::FindKind(std::string_view word) {
  const std::string wanted = ToLower(word);
  const auto table = parts_->embedded->registry().table();
  for (const local::ResourcePtr& resource : table->all()) {
    if (table->FindStored(resource->storage) != resource || !resource->Allows('g')) continue;
    const auto& shorts = resource->short_names;
    if (ToLower(resource->kind) == wanted || resource->id.resource == wanted ||
        resource->singular == wanted ||
        std::find(shorts.begin(), shorts.end(), wanted) != shorts.end()) {
      return local::WholeApi::KindInfo{resource->id, resource->kind, resource->namespaced};
    }
  }
  return std::nullopt;
}

local::ApiResult<local::Object> SimWorld::ApplyOne(const Json& object) {
  return parts_->embedded->Apply(object);
}

local::ApiResult<std::vector<local::Object>> SimWorld::Apply(const std::vector<Json>& objects) {
  std::vector<local::Object> applied;
  for (const Json& object : objects) {
    auto one = ApplyOne(object);
    if (!one) return one.error();
    applied.push_back(*one);
  }
  return applied;
}

}  // namespace berth::sim
