#include "tests/bench/load/list_server.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "base/strings.h"
#include "base/system_clock.h"
#include "net/certificates.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::bench {
namespace {

constexpr int kThreads = 2;
constexpr std::chrono::hours kLife{24};

// The value of `key` in a query; numbers only, so nothing is escaped.
std::size_t NumberIn(std::string_view target, std::string_view key) {
  const std::size_t at = target.find(key);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = target.substr(at + key.size());
  rest = rest.substr(0, rest.find('&'));
  return static_cast<std::size_t>(ParseInt64(rest).value_or(0));
}

class ListServer {
 public:
  ListServer(const LoadSize& size, int news) : text_(size), news_(news) {}

  void Handle(const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string plural = path.substr(path.rfind('/') + 1);
    if (request.method != "GET") {
      if (request.body.find("clusterQueue") != std::string::npos && !decided_.exchange(true)) {
        Tell('d');
      }
      const std::lock_guard lock(mutex_);
      held_.push_back(responder);
      return;
    }
    if (request.target.find("watch=true") != std::string::npos) {
      if (plural == "workloads") Tell('w');
      auto stream = responder->StartStream(200, {{"Content-Type", "application/json"}});
      const std::lock_guard lock(mutex_);
      streams_.push_back(std::move(stream));
      return;
    }
    net::Response response;
    response.headers.Add("Content-Type", "application/json");
    response.body = plural == "workloads"
                        ? text_.WorkloadPage(NumberIn(request.target, "continue="),
                                             NumberIn(request.target, "limit="))
                        : text_.OtherList(plural);
    responder->Send(std::move(response));
  }

 private:
  void Tell(char what) const {
    if (write(news_, &what, 1) != 1) std::perror("list server: news");
  }

  const WorkloadText text_;
  const int news_;
  std::atomic<bool> decided_{false};
  std::mutex mutex_;
  std::vector<std::shared_ptr<net::Responder>> held_;
  std::vector<std::shared_ptr<net::Stream>> streams_;
};

void WriteKubeConfig(const std::string& path, std::uint16_t port, const std::string& ca_path) {
  {
    std::ofstream file(path + ".new");
    file << "apiVersion: v1\nkind: Config\ncurrent-context: bench\n"
         << "clusters:\n- name: bench\n  cluster:\n    server: https://127.0.0.1:" << port
         << "\n    certificate-authority: " << ca_path << "\n"
         << "users:\n- name: bench\n  user:\n    token: bench\n"
         << "contexts:\n- name: bench\n  context:\n    cluster: bench\n    user: bench\n";
  }
  std::filesystem::rename(path + ".new", path);
}

int Fail(const Error& error) {
  std::fprintf(stderr, "list server: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int ServeLists(const LoadSize& size, const std::string& kubeconfig, int news) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const WallTime now = SystemClock().Now();
  const auto authority = net::MakeCertificateAuthority("bench", now - kLife, now + kLife);
  if (!authority) return Fail(authority.error());
  net::CertificateRequest request;
  request.common_name = "bench";
  request.ip_addresses = {"127.0.0.1"};
  request.for_server = true;
  request.not_before = now - kLife;
  request.not_after = now + kLife;
  const auto identity = net::IssueCertificate(*authority, request);
  if (!identity) return Fail(identity.error());
  net::IoPool pool(kThreads);
  ListServer lists(size, news);
  net::ServerOptions options;
  options.tls = std::make_shared<const net::TlsIdentity>(*identity);
  auto server = net::HttpServer::Start(
      pool, options,
      [&lists](const net::Request& asked, const std::shared_ptr<net::Responder>& responder) {
        lists.Handle(asked, responder);
      });
  if (!server) return Fail(server.error());
  const std::string ca_path = kubeconfig + ".ca";
  std::ofstream(ca_path) << authority->certificate_chain_pem;
  WriteKubeConfig(kubeconfig, (*server)->port(), ca_path);
  int signal = 0;
  sigwait(&stop, &signal);
  (*server)->Stop();
  pool.Stop();
  return 0;
}

}  // namespace berth::bench
