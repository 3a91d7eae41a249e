#include "tests/bench/endtoend/cluster.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "kube/client/kubeconfig.h"
#include "tests/bench/support/load.h"

namespace berth::bench {
namespace {

constexpr std::chrono::seconds kPatience{30};

}  // namespace

void GiveUp(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}

Cluster::Cluster(const std::string& berth, const std::vector<std::string>& flags)
    : berth_(berth), flags_(flags), kubeconfig_(folder_.path() + "/kubeconfig") {
  Start();
}

Cluster::Cluster(const std::string& kubeconfig) : kubeconfig_(kubeconfig) { Connect(); }

void Cluster::Restart() {
  client_.reset();
  child_.reset();
  Start();
}

void Cluster::Start() {
  std::filesystem::remove(kubeconfig_);  // written last, so its presence says "ready"
  std::vector<std::string> command{
      berth_,         "up",        "--data-dir", folder_.path() + "/data",
      "--kubeconfig", kubeconfig_, "--listen",   "127.0.0.1:0"};
  command.insert(command.end(), flags_.begin(), flags_.end());
  const auto start = std::chrono::steady_clock::now();
  child_ = std::make_unique<Child>(Child::Run(command, folder_.path() + "/log"));
  while (!std::filesystem::exists(kubeconfig_)) {
    if (!child_->IsRunning()) GiveUp("berth up ended early: see " + folder_.path() + "/log");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  start_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Connect();
}

void Cluster::Connect() {
  const auto config = kube::FindKubeConfig({kubeconfig_, ""});
  if (!config) GiveUp(config.error().message);
  net::ClientOptions options;
  options.base_url = config->server;
  options.ca_pem = config->ca_pem;
  options.bearer_token = config->bearer_token;
  auto client = net::HttpClient::Create(io_, std::move(options));
  if (!client) GiveUp(client.error().message);
  client_ = *std::move(client);
}

Json Cluster::Get(const std::string& path) {
  const auto answer = client_->SendAndWait(JsonRequest("GET", path), kPatience);
  if (!answer) GiveUp(answer.error().message);
  return Json::parse(answer->body, nullptr, false);
}

void Cluster::Post(const std::string& path, const Json& object) {
  const auto answer = client_->SendAndWait(JsonRequest("POST", path, object.dump()), kPatience);
  if (!answer) GiveUp(answer.error().message);
  if (answer->status != 201) GiveUp("POST " + path + ": " + answer->body);
}

std::int64_t Cluster::Revision() {
  const Json list = Get("/api/v1/namespaces?limit=1");
  return std::atoll(list["metadata"]["resourceVersion"].get<std::string>().c_str());
}

}  // namespace berth::bench
