#include "tests/simulation/sim_world.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include <unistd.h>

#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "local/apiserver/registry/in_process_api.h"
#include "local/apiserver/registry/registry.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/cluster.h"
#include "tests/simulation/sim_request.h"
#include "tests/simulation/sim_runner.h"
#include "tests/simulation/sim_webhooks.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;
using local::Json;

constexpr Duration kStartLimit = std::chrono::minutes(2);
constexpr Duration kProcessStart = std::chrono::seconds(3);  // of one that has ended by itself
constexpr Duration kQuiet = std::chrono::seconds(1);
constexpr Duration kSettleLimit = std::chrono::minutes(1);

std::string SourceFolder() { return BERTH_SOURCE_FOLDER; }

// What `berth up` applies by itself.
Result<std::vector<Json>> OwnManifests() {
  std::vector<std::string> paths;
  for (const char* folder : {"manifests/crds", "manifests/cloud"}) {
    for (const auto& entry : fs::directory_iterator(SourceFolder() + "/" + folder)) {
      const std::string name = entry.path().filename().string();
      if (name == "kustomization.yaml") continue;
      paths.push_back(std::string(folder) + "/" + name);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.emplace_back("manifests/controller/namespace.yaml");
  paths.emplace_back("manifests/webhook/webhooks.yaml");
  std::vector<Json> all;
  for (const std::string& path : paths) {
    BERTH_TRY(std::vector<Json> documents, ReadManifests(path));
    for (Json& document : documents) all.push_back(std::move(document));
  }
  return all;
}

std::string NamespaceOf(const Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return "";
  return metadata->value("namespace", "");
}

// kubectl apply --server-side.
local::ApiResult<local::Object> ApplyTo(local::Registry& registry, local::WholeApi& api,
                                        const Json& object) {
  if (!object.is_object()) return local::ApiError{400, "BadRequest", "not an object", Json()};
  const std::string api_version = object.value("apiVersion", "");
  const std::size_t slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  const auto resource = registry.table()->FindKind(
      group, slash == std::string::npos ? api_version : api_version.substr(slash + 1),
      object.value("kind", ""));
  if (resource == nullptr) {
    return local::ApiError{404, "NotFound",
                           "no matches for kind \"" + object.value("kind", "") +
                               "\" in version \"" + api_version + "\"",
                           Json()};
  }
  std::string namespace_name = NamespaceOf(object);
  if (resource->namespaced && namespace_name.empty()) namespace_name = "default";
  Json complete = object;
  if (resource->namespaced) complete["metadata"]["namespace"] = namespace_name;
  return api.Patch(resource->id, namespace_name, complete["metadata"].value("name", ""),
                   local::PatchType::kApply, complete, {.field_manager = "kubectl", .force = true});
}

// An API server as `berth up` leaves it before anything runs. Every world begins as a copy: to
// read and install the kinds costs more than a short story.
class Ground {
 public:
  // Made by whoever asks first, for the whole process; nobody changes it afterwards.
  static const Result<std::unique_ptr<Ground>>& Get() {
    static const Result<std::unique_ptr<Ground>> ground = Make();
    return ground;
  }
  local::WatchCache::Snapshot content() const { return store_->cache().ListEverything(); }
  const local::Registry& registry() const { return *registry_; }

 private:
  static constexpr std::uint64_t kSeed = 0x61201D;  // no world's

  static Result<std::unique_ptr<Ground>> Make() {
    auto ground = std::make_unique<Ground>();
    BERTH_TRY(ground->store_, local::Store::Open({}));
    local::RegistryOptions options;
    options.clock = &ground->clock_;
    options.seed = kSeed;
    ground->registry_ = std::make_unique<local::Registry>(*ground->store_, std::move(options));
    const auto api = local::MakeInProcessApi(*ground->registry_, nullptr);
    BERTH_CHECK_OK(ground->registry_->Bootstrap());
    BERTH_TRY(const std::vector<Json> manifests, OwnManifests());
    for (const Json& object : manifests) {
      const auto applied = ApplyTo(*ground->registry_, *api, object);
      if (!applied) return Error{ErrorCode::kInternal, applied.error().message};
    }
    return ground;
  }

  FakeClock clock_;
  std::unique_ptr<local::Store> store_;
  std::unique_ptr<local::Registry> registry_;
};

// Pods keep their files there; memory where there is some, for files are made by the thousand.
fs::path TemporaryFolder() {
  std::error_code error;
  const fs::path memory = "/dev/shm";
  return fs::is_directory(memory, error) && access(memory.c_str(), W_OK) == 0
             ? memory
             : fs::temp_directory_path();
}

}  // namespace

struct SimWorld::Parts {
  std::string folder;  // pods keep their files here
  SimWebhooks webhooks;
  std::unique_ptr<local::Store> store;
  std::unique_ptr<local::Registry> registry;
  std::unique_ptr<local::WholeApi> api;
  std::unique_ptr<SimRunner> runner;
  std::unique_ptr<local::cluster::Cluster> cluster;
  std::unique_ptr<local::cloud::CloudDriver> cloud;
  std::vector<std::unique_ptr<SimReplica>> replicas;  // null: is not there

  ~Parts() {
    replicas.clear();
    cloud.reset();
    cluster.reset();
    runner.reset();
    api.reset();
    registry.reset();
    std::error_code error;
    if (!folder.empty()) fs::remove_all(folder, error);
  }
};

SimWorld::SimWorld(SimWorldOptions options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>()) {
  options_.transport.on_answer = [this](const kube::ApiRequest& request,
                                        const kube::ApiResponse& response) {
    if (answer_hook_) answer_hook_(request, response);
  };
}

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
  if (!Ground::Get()) return Ground::Get().error();
  const Ground& ground = **Ground::Get();
  local::StoreOptions store;
  store.content = ground.content();
  BERTH_TRY(parts.store, local::Store::Open(std::move(store)));
  local::RegistryOptions registry;
  registry.clock = &clock_;
  registry.seed = options_.seed;
  registry.webhooks = &parts.webhooks;
  registry.sibling = &ground.registry();
  parts.store->AddListener([this](const std::vector<local::EventPtr>& events) {
    for (const local::EventPtr& event : events) {
      if (event->object->key().resource != "leases.coordination.k8s.io") ++writes_;
    }
  });
  parts.replicas.resize(static_cast<std::size_t>(options_.replicas));
  parts.registry = std::make_unique<local::Registry>(*parts.store, std::move(registry));
  parts.api = local::MakeInProcessApi(*parts.registry, &executor_);
  parts.runner = std::make_unique<SimRunner>(executor_);
  local::cluster::ClusterOptions cluster;
  cluster.data_folder = parts.folder;
  cluster.programs = {{kSimImage, kSimProgram}};
  cluster.runner = parts.runner.get();
  BERTH_TRY(parts.cluster, local::cluster::Cluster::Start(*parts.api, clock_, executor_, cluster));
  parts.cloud = std::make_unique<local::cloud::CloudDriver>(
      *parts.api, parts.cluster->cache(), clock_, executor_, options_.cloud_times);
  if (!StartControllers()) {
    return Error{ErrorCode::kDeadlineExceeded,
                 "controllers wait for " + Join(parts.replicas[0]->NotSynced(), ", ")};
  }
  Settle();
  // Stories count from a whole second: the API cuts times to seconds.
  RunFor(std::chrono::ceil<std::chrono::seconds>(clock_.Now()) - clock_.Now());
  started_at_ = clock_.Now();
  return OkStatus();
}

local::WholeApi& SimWorld::api() { return *parts_->api; }
local::Store& SimWorld::store() { return *parts_->store; }
SimTransport& SimWorld::transport() {
  return parts_->replicas[static_cast<std::size_t>(std::max(0, leader()))]->transport();
}

void SimWorld::ForEachTransport(const std::function<void(SimTransport& transport)>& act) {
  for (const auto& replica : parts_->replicas) {
    if (replica != nullptr) act(replica->transport());
  }
}

void SimWorld::Configure(admission::Configuration configuration) {
  options_.configuration = std::move(configuration);
}

SimReplicaOptions SimWorld::ReplicaOptions(int number) {
  SimReplicaOptions options;
  options.identity = "replica-" + std::to_string(number) + "_" + std::to_string(++launches_);
  if (options_.replicas > 1) options.election = &options_.election;
  options.transport = options_.transport;
  options.transport.fault = [this, number](const kube::ApiRequest& request) {
    asking_ = number;
    return fault_ ? fault_(request) : Fault::kNone;
  };
  options.configuration = options_.configuration;
  options.on_lease_lost = [this, number] { OnLeaseLost(number); };
  return options;
}

// The process exits, and is started again.
void SimWorld::OnLeaseLost(int number) {
  const std::string lost = identity(number);
  executor_.Post([this, number, lost] {
    if (identity(number) == lost) KillReplica(number);
  });
  executor_.PostAfter(kProcessStart, [this, number, lost] {
    // Unless all of them were stopped meanwhile.
    if (has_controllers() && identity(number).empty()) LaunchReplica(number);
  });
}

void SimWorld::KillReplica(int number) {
  parts_->replicas[static_cast<std::size_t>(number)].reset();
}

void SimWorld::LaunchReplica(int number) {
  auto& replica = parts_->replicas[static_cast<std::size_t>(number)];
  if (replica != nullptr) return;
  replica = std::make_unique<SimReplica>(*parts_->registry, parts_->webhooks, executor_, clock_,
                                         ReplicaOptions(number));
}

int SimWorld::leader() const {
  for (std::size_t i = 0; i < parts_->replicas.size(); ++i) {
    const auto& replica = parts_->replicas[i];
    if (replica != nullptr && replica->controllers_running()) return static_cast<int>(i);
  }
  return -1;
}

std::string SimWorld::identity(int number) const {
  const auto& replica = parts_->replicas[static_cast<std::size_t>(number)];
  return replica == nullptr ? "" : replica->identity();
}

void SimWorld::StopControllers() {
  for (auto& replica : parts_->replicas) replica.reset();
}

void SimWorld::LaunchControllers() {
  for (int i = 0; i < options_.replicas; ++i) LaunchReplica(i);
}

bool SimWorld::StartControllers() {
  LaunchControllers();
  return RunUntil([this] { return controllers_running(); }, kStartLimit);
}

bool SimWorld::has_controllers() const {
  return std::any_of(parts_->replicas.begin(), parts_->replicas.end(),
                     [](const auto& replica) { return replica != nullptr; });
}

bool SimWorld::controllers_running() const { return leader() >= 0; }

const admission::Scheduler& SimWorld::scheduler() const {
  return parts_->replicas[static_cast<std::size_t>(leader())]->scheduler();
}

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
  return Answer(*parts_->registry, {"GET", path, "", nullptr});
}

std::int64_t SimWorld::revision() const { return parts_->store->cache().revision(); }

std::uint64_t SimWorld::trace_hash() const {
  return (executor_.trace_hash() ^ static_cast<std::uint64_t>(revision())) * 0x100000001B3U;
}

std::optional<local::WholeApi::KindInfo> SimWorld::FindKind(std::string_view word) {
  const std::string wanted = ToLower(word);
  const auto table = parts_->registry->table();
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
  return ApplyTo(*parts_->registry, *parts_->api, object);
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

Result<std::vector<Json>> ReadManifests(const std::string& path) {
  std::ifstream file(SourceFolder() + "/" + path);
  if (!file) return Error{ErrorCode::kNotFound, "no file " + path};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  BERTH_TRY(auto documents, api::ParseYamlStream(text));
  std::vector<Json> objects;
  for (api::YamlDocument& document : documents) objects.push_back(std::move(document.value));
  return objects;
}

}  // namespace berth::sim
