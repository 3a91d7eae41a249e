// What the counters of /metrics cost a request: nanoseconds of processor time from its beginning to
// its answer, beside those of the same request without counters.
//
//   metrics_bench [KINDS] [THREADS]     200 and 4 by default; tools/bench-local metrics runs it
//
// KINDS: the number of resources that have been asked before, each with four verbs.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

#include "local/apiserver/http/request_metrics.h"

namespace {

using namespace berth::local;  // NOLINT(google-build-using-namespace): a program of one file
namespace net = berth::net;

constexpr int kRequests = 500'000;

class NoResponder final : public net::Responder {
 public:
  bool HasPeerLeft() const override { return false; }
  void Send(net::Response /*response*/) override {}
  std::shared_ptr<net::Stream> StartStream(int /*status*/, net::Headers /*headers*/) override {
    return nullptr;
  }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request& /*request*/,
                                            std::string /*protocol*/,
                                            net::Headers /*headers*/) override {
    return nullptr;
  }
};

struct Question {
  net::Request request;
  Target target;
  std::optional<ApiPath> path;
};

Question AskFor(const char* method, const std::string& target) {
  Question question;
  question.request.method = method;
  question.request.target = target;
  question.target = *ParseTarget(target);
  question.path = ParseApiPath(question.target.path);
  return question;
}

// The processor time that the calling thread has used: other programs of the machine do not count.
double Nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// The mean of all threads, a request.
template <typename Work>
double Measure(int threads, const Work& work) {
  std::vector<std::thread> running;
  std::vector<double> means(static_cast<std::size_t>(threads));
  for (double& mean : means) {
    running.emplace_back([&mean, &work] {
      const double begun = Nanoseconds();
      for (int i = 0; i < kRequests; ++i) work();
      mean = (Nanoseconds() - begun) / kRequests;
    });
  }
  double sum = 0;
  for (std::thread& thread : running) thread.join();
  for (const double mean : means) sum += mean;
  return sum / threads;
}

}  // namespace

int main(int argc, char** argv) {
  const int kinds = argc > 1 ? std::atoi(argv[1]) : 200;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 4;
  const auto metrics =
      std::make_shared<RequestMetrics>([](const ApiPath& /*path*/) { return true; });
  for (int i = 0; i < kinds; ++i) {
    const std::string path = "/apis/example.com/v1/namespaces/n/things" + std::to_string(i);
    for (const char* method : {"GET", "POST", "PUT", "DELETE"}) {
      const Question asked = AskFor(method, path);
      metrics->Measure(asked.request, asked.target, asked.path, nullptr);
    }
  }
  const Question question =
      AskFor("POST", "/apis/example.com/v1/namespaces/n/things" + std::to_string(kinds / 2));
  for (const int count : {1, threads}) {
    const double plain = Measure(count, [] {
      const std::shared_ptr<net::Responder> responder = std::make_shared<NoResponder>();
      responder->Send({201, {}, {}});
    });
    const double counted = Measure(count, [&] {
      const auto responder = metrics->Measure(question.request, question.target, question.path,
                                              std::make_shared<NoResponder>());
      responder->Send({201, {}, {}});
    });
    std::printf("%d threads, %d kinds: %.0f ns a request (without counters %.0f ns)\n", count,
                kinds, counted - plain, plain);
  }
  return 0;
}
