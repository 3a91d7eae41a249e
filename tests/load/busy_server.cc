#include "tests/load/busy_server.h"

#include <string_view>
#include <utility>
#include <vector>

namespace berth::sim {
namespace {

using std::chrono::microseconds;

// "workloads/status" of "/apis/…/namespaces/a/workloads/b/status?x=y".
std::string ResourceOf(const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < path.size() && path[at] != '?';) {
    const std::size_t end = std::min(path.find_first_of("/?", at + 1), path.size());
    words.push_back(path.substr(at + 1, end - at - 1));
    at = end;
  }
  // api/VERSION/… or apis/GROUP/VERSION/…, then perhaps namespaces/NAME/.
  std::size_t at = !words.empty() && words[0] == "api" ? 2 : 3;
  if (words.size() > at + 2 && words[at] == "namespaces") at += 2;
  if (words.size() <= at) return "?";
  return words.size() > at + 2 ? words[at] + "/" + words[at + 2] : words[at];
}

Duration ServiceOf(const kube::ApiRequest& request, std::string_view resource) {
  if (request.method == "GET") return microseconds(1500);
  if (resource == "events") return microseconds(2500);
  if (request.content_type.find("apply") != std::string::npos) return microseconds(6500);
  return microseconds(4500);
}

}  // namespace

void BusyServer::Submit(const kube::ApiRequest& request, std::function<void()> serve) {
  const std::string resource = ResourceOf(request.path);
  const bool applies = request.content_type.find("apply") != std::string::npos;
  ++counts_[(applies ? "APPLY" : request.method) + " " + resource];
  const auto service = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(ServiceOf(request, resource)) * slowness_);
  queue_.push_back({service, std::move(serve)});
  Pump();
}

void BusyServer::Pump() {
  while (working_ < cores_ && !queue_.empty()) {
    Job job = std::move(queue_.front());
    queue_.pop_front();
    ++working_;
    busy_ += job.service;
    executor_.PostAfter(job.service, [this, serve = std::move(job.serve)] {
      --working_;
      serve();
      Pump();
    });
  }
}

void BusyTransport::Send(kube::ApiRequest request, Duration timeout,
                         std::function<void(Result<kube::ApiResponse>)> done) {
  auto moved = std::make_shared<kube::ApiRequest>(std::move(request));
  server_.Submit(*moved, [this, moved, timeout, done = std::move(done)]() mutable {
    inner_.Send(std::move(*moved), timeout, std::move(done));
  });
}

}  // namespace berth::sim
