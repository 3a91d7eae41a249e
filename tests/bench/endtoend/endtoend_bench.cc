// Latencies and rates of `berth up` from outside, over HTTPS: start, memory at rest, a Job until
// its admission with kubectl and with a plain client, Jobs per second through the whole system.
//
//   berth_bench_endtoend BERTH [--kubectl PATH] [--jobs N] [--churn N] [--only PART] [--turns N]
//   berth_bench_endtoend --cluster KUBECONFIG [--turns N]
//
// With --cluster the part turns alone, on a cluster with nodes where Berth runs and no queue
// exists. Parts: start, kubectl, latency, turns, throughput, churn, and only where they are named:
// creates (durable creates without the controllers of Berth, for two programs in turn) and restart
// (with 100,000 objects). Writes are counted with the store's revision.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/endtoend/cluster.h"
#include "tests/bench/endtoend/observer.h"
#include "tests/bench/support/load.h"

namespace berth::bench {
namespace {

constexpr const char* kQueues = "/apis/kueue.x-k8s.io/v1beta2";
constexpr const char* kWorkloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr int kWriters = 8;

struct Options {
  std::string berth;
  std::string kubectl;
  std::string only;
  std::string cluster;  // the kubeconfig of another cluster; empty: `berth up`
  int turns = 200;
  int jobs = 2000;
  int churn = 400;

  bool Wants(const std::string& part) const { return only.empty() || only == part; }
  bool Names(const std::string& part) const { return only == part; }
};

double Milliseconds(Instant from, Instant to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

void Row(const std::string& what, const std::string& figure) {
  std::printf("| %-62s | %-46s |\n", what.c_str(), figure.c_str());
  std::fflush(stdout);
}

std::string Format(const char* format, double a, double b = 0, double c = 0) {
  char text[160];
  std::snprintf(text, sizeof(text), format, a, b, c);  // NOLINT: the formats stand below
  return text;
}

Json Job(const std::string& name, const std::string& image) {
  const Json container{{"name", "c"},
                       {"image", image},
                       {"resources", {{"requests", {{"cpu", "1"}, {"memory", "64Mi"}}}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "bench"}}}}},
          {"spec",
           {{"suspend", true},
            {"template",
             {{"spec", {{"restartPolicy", "Never"}, {"containers", Json::array({container})}}}}}}}};
}

// One queue with room for `cpus` jobs at a time.
void MakeQueues(Cluster& cluster, const std::string& cpus) {
  const auto object = [](const char* kind, const char* name, Json spec) {
    return Json{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                {"kind", kind},
                {"metadata", {{"name", name}}},
                {"spec", std::move(spec)}};
  };
  const Json resources = Json::array(
      {{{"name", "cpu"}, {"nominalQuota", cpus}}, {{"name", "memory"}, {"nominalQuota", "100Ti"}}});
  const Json flavors = Json::array({{{"name", "default"}, {"resources", resources}}});
  const std::string root = kQueues;
  cluster.Post(root + "/resourceflavors", object("ResourceFlavor", "default", Json::object()));
  cluster.Post(
      root + "/clusterqueues",
      object("ClusterQueue", "bench",
             {{"namespaceSelector", Json::object()},
              {"resourceGroups",
               Json::array({{{"coveredResources", {"cpu", "memory"}}, {"flavors", flavors}}})}}));
  cluster.Post(root + "/namespaces/default/localqueues",
               object("LocalQueue", "bench", {{"clusterQueue", "bench"}}));
}

bool IsTrue(const Json& object, const char* type) {
  const auto status = object.find("status");
  if (status == object.end() || !status->contains("conditions")) return false;
  for (const Json& condition : (*status)["conditions"]) {
    if (condition["type"] == type) return condition["status"] == "True";
  }
  return false;
}

// The job's name, if the workload is admitted.
std::optional<std::string> Admitted(const Json& workload) {
  if (!IsTrue(workload, "Admitted")) return std::nullopt;
  return workload["metadata"]["ownerReferences"][0]["name"].get<std::string>();
}

std::optional<std::string> Resumed(const Json& job) {
  if (job["spec"].value("suspend", false)) return std::nullopt;
  return job["metadata"]["name"].get<std::string>();
}

std::optional<std::string> Complete(const Json& job) {
  if (!IsTrue(job, "Complete")) return std::nullopt;
  return job["metadata"]["name"].get<std::string>();
}

void MeasureStart(const Options& options) {
  constexpr int kRounds = 7;
  std::vector<double> fresh;
  std::vector<double> again;
  double idle = 0;
  for (int i = 0; i < kRounds; ++i) {
    Cluster cluster(options.berth, {});
    fresh.push_back(cluster.start_seconds() * 1000);
    cluster.Restart();
    again.push_back(cluster.start_seconds() * 1000);
    if (i > 0) continue;
    MakeQueues(cluster, "1000");
    std::this_thread::sleep_for(std::chrono::seconds(5));
    idle = ResidentMegabytes(cluster.process());
    const double before = CpuSeconds(cluster.process());
    std::this_thread::sleep_for(std::chrono::seconds(5));
    Row("processor at rest", Format("%.1f %%", (CpuSeconds(cluster.process()) - before) / 5 * 100));
  }
  Row("start to ready, empty folder (median of 7; aim < 300 ms)",
      Format("%.0f ms (%.0f to %.0f)", Percentile(fresh, 0.5), Percentile(fresh, 0),
             Percentile(fresh, 1)));
  Row("start to ready, folder with data", Format("%.0f ms (%.0f to %.0f)", Percentile(again, 0.5),
                                                 Percentile(again, 0), Percentile(again, 1)));
  Row("resident at rest, queues made (aim < 60 MB)", Format("%.0f MB", idle));
}

void MeasureKubectl(const Options& options) {
  constexpr int kRounds = 25;
  if (options.kubectl.empty()) return Row("kubectl create to admitted", "no kubectl given");
  Cluster cluster(options.berth, {});
  MakeQueues(cluster, "100000");
  Observer admitted(cluster, kWorkloads, Admitted);
  std::vector<double> whole;
  std::vector<double> alone;
  std::vector<double> behind;
  for (int i = -1; i < kRounds; ++i) {  // the first fills kubectl's discovery cache
    const std::string name = "k" + std::to_string(i + 1);
    const std::string file = cluster.folder() + "/job.json";
    std::ofstream(file) << Job(name, "none").dump();
    const Instant start = std::chrono::steady_clock::now();
    Child kubectl = Child::Run({options.kubectl, "--kubeconfig", cluster.kubeconfig(),
                                "--cache-dir", cluster.folder() + "/cache", "create", "-f", file},
                               cluster.folder() + "/kubectl.log");
    if (kubectl.Wait() != 0) GiveUp("kubectl create failed");
    const Instant end = std::chrono::steady_clock::now();
    const Instant seen = admitted.TimeOf(name);
    if (i < 0) continue;
    whole.push_back(Milliseconds(start, seen));
    alone.push_back(Milliseconds(start, end));
    behind.push_back(Milliseconds(end, seen));
  }
  Row("kubectl create to admitted, from kubectl's start (25 jobs)",
      Format("p50 %.0f ms  p95 %.0f ms", Percentile(whole, 0.5), Percentile(whole, 0.95)));
  Row("  of which kubectl itself runs",
      Format("p50 %.0f ms  p95 %.0f ms", Percentile(alone, 0.5), Percentile(alone, 0.95)));
  Row("  from kubectl's end (below 0: admitted before)",
      Format("p50 %.0f ms  p95 %.0f ms", Percentile(behind, 0.5), Percentile(behind, 0.95)));
}

void MeasureLatency(const Options& options) {
  constexpr int kRounds = 100;
  Cluster cluster(options.berth, {});
  MakeQueues(cluster, "100000");
  Observer admitted(cluster, kWorkloads, Admitted);
  Observer resumed(cluster, kJobs, Resumed);
  std::vector<double> to_admitted;
  std::vector<double> to_resumed;
  for (int i = -5; i < kRounds; ++i) {
    const std::string name = "l" + std::to_string(i + 5);
    const Instant start = std::chrono::steady_clock::now();
    cluster.Post(kJobs, Job(name, "none"));
    const Instant seen = admitted.TimeOf(name);
    const Instant running = resumed.TimeOf(name);
    if (i < 0) continue;
    to_admitted.push_back(Milliseconds(start, seen));
    to_resumed.push_back(Milliseconds(start, running));
  }
  Row("create over HTTPS to Admitted (100 jobs, one at a time)",
      Format("p50 %.1f ms  p95 %.1f ms", Percentile(to_admitted, 0.5),
             Percentile(to_admitted, 0.95)));
  Row("create over HTTPS to unsuspended",
      Format("p50 %.1f ms  p95 %.1f ms", Percentile(to_resumed, 0.5),
             Percentile(to_resumed, 0.95)));
}

struct Flood {
  double created_seconds = 0;
  double reached_seconds = 0;
  double server_cpu_seconds = 0;
  double client_cpu_seconds = 0;
  double writes = 0;
};

// Creates `count` jobs with 8 writers and waits until each has `reached`.
Flood RunFlood(Cluster& cluster, int count, const std::string& image, const char* watched,
               const Observer::Reached& reached) {
  Observer observer(cluster, watched, reached);
  Flood flood;
  const std::int64_t revision = cluster.Revision();
  const double server = CpuSeconds(cluster.process());
  const double client = OwnCpuSeconds();
  const Instant start = std::chrono::steady_clock::now();
  const LoadResult load =
      RunLoad(cluster.client(), {.writers = kWriters, .seconds = 0, .requests = count},
              [&](int writer, int number) {
                return JsonRequest(
                    "POST", kJobs,
                    Job("f" + std::to_string(writer) + "-" + std::to_string(number), image).dump());
              });
  if (load.failed > 0) GiveUp("a create failed: " + load.first_failure);
  flood.created_seconds = load.seconds;
  const Instant end = observer.WaitFor(static_cast<std::size_t>(count));
  flood.reached_seconds = Milliseconds(start, end) / 1000;
  flood.server_cpu_seconds = CpuSeconds(cluster.process()) - server;
  flood.client_cpu_seconds = OwnCpuSeconds() - client;
  flood.writes = static_cast<double>(cluster.Revision() - revision);
  return flood;
}

void ShowFlood(const std::string& what, const Flood& flood, int count) {
  Row(what, Format("%.0f/s (%.1f s)", count / flood.reached_seconds, flood.reached_seconds));
  Row("  created by 8 writers meanwhile", Format("%.0f/s", count / flood.created_seconds));
  Row("  writes, processor time of berth and of this client, per job",
      Format("%.1f writes, %.2f ms, %.2f ms", flood.writes / count,
             flood.server_cpu_seconds / count * 1000, flood.client_cpu_seconds / count * 1000));
}

void MeasureThroughput(const Options& options) {
  Cluster cluster(options.berth, {});
  MakeQueues(cluster, "1000000");
  const Flood flood = RunFlood(cluster, options.jobs, "none", kWorkloads, Admitted);
  ShowFlood("jobs admitted per second, " + std::to_string(options.jobs) + " jobs, quota for all",
            flood, options.jobs);
  Row("  resident afterwards", Format("%.0f MB", ResidentMegabytes(cluster.process())));
}

// A node with room for many pods.
void MakePool(Cluster& cluster) {
  const Json pool{{"apiVersion", "cloud.berth.dev/v1alpha1"},
                  {"kind", "NodePool"},
                  {"metadata", {{"name", "bench"}}},
                  {"spec",
                   {{"machineType", "a2-highgpu-8g"},
                    {"zones", {"us-central1-a"}},
                    {"minNodes", 1},
                    {"maxNodes", 1},
                    {"bootSeconds", 0},
                    {"stock", 1},
                    {"idleSeconds", 600}}}};
  cluster.Post("/apis/cloud.berth.dev/v1alpha1/nodepools", pool);
}

std::optional<std::string> Created(const Json& pod) {
  return pod["metadata"]["labels"].value("batch.kubernetes.io/job-name", "");
}

std::optional<std::string> Bound(const Json& pod) {
  return pod["spec"].contains("nodeName") ? Created(pod) : std::nullopt;
}

// The job of a pod whose program has been started.
std::optional<std::string> Started(const Json& pod) {
  const Json statuses = pod["status"].value("containerStatuses", Json::array());
  if (statuses.empty() || statuses[0]["state"].contains("waiting")) return std::nullopt;
  return Created(pod);
}

// Programs that end at once, one at a time: Berth's part and that of Kubernetes.
class Turns {
 public:
  explicit Turns(Cluster& cluster) : cluster_(cluster) {}

  // Measures the time from the creation of a Job to its program.
  void MeasureStarts(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const std::string name = "p" + std::to_string(i);
      Instant before = std::chrono::steady_clock::now();
      const Instant start = before;
      Run(name);
      std::size_t step = 0;
      for (Observer* reached : {&admitted_, &resumed_, &created_, &bound_, &started_}) {
        const Instant at = reached->TimeOf(name);
        steps_[step++].push_back(Milliseconds(before, at));
        before = at;
      }
      whole_.push_back(Milliseconds(start, before));
      complete_.TimeOf(name);
    }
    Show("create to the job's program, one at a time", whole_);
    std::size_t step = 0;
    for (const char* what :
         {"  create to admitted (API server, Berth)", "  admitted to unsuspended (Berth)",
          "  unsuspended to the pod (job controller)", "  the pod to its node (scheduler)",
          "  the node to the program (kubelet)"}) {
      Show(what, steps_[step++]);
    }
  }

  // Measures the time from the end of a Job to the start of the next one, where one fits at a time.
  void MeasureNext(int rounds) {
    for (int i = 0; i < rounds; ++i) Run("t" + std::to_string(i));
    std::vector<Instant> starts;
    std::vector<Instant> ends;
    for (int i = 0; i < rounds; ++i) {
      starts.push_back(resumed_.TimeOf("t" + std::to_string(i)));
      ends.push_back(complete_.TimeOf("t" + std::to_string(i)));
    }
    std::sort(starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    std::vector<double> to_next;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      to_next.push_back(Milliseconds(ends[i], starts[i + 1]));
    }
    Show("a job complete to the next one unsuspended, quota for 1", to_next);
  }

  void Run(const std::string& name) { cluster_.Post(kJobs, Job(name, "bench/true")); }
  void WaitForEnd(const std::string& name) { complete_.TimeOf(name); }

 private:
  static void Show(const std::string& what, std::vector<double>& times) {
    Row(what + ", " + std::to_string(times.size()) + " times",
        Format("p50 %.0f ms  p90 %.0f ms  p99 %.0f ms", Percentile(times, 0.5),
               Percentile(times, 0.9), Percentile(times, 0.99)));
  }

  Cluster& cluster_;
  Observer admitted_{cluster_, kWorkloads, Admitted};
  Observer resumed_{cluster_, kJobs, Resumed};
  Observer created_{cluster_, kPods, Created};
  Observer bound_{cluster_, kPods, Bound};
  Observer started_{cluster_, kPods, Started};
  Observer complete_{cluster_, kJobs, Complete};
  std::vector<double> whole_;
  std::array<std::vector<double>, 5> steps_;
};

void MeasureTurns(Cluster& cluster, int rounds) {
  MakeQueues(cluster, "1");
  Turns turns(cluster);
  turns.Run("first");  // the node comes
  turns.WaitForEnd("first");
  turns.MeasureStarts(rounds);
  turns.MeasureNext(rounds);
}

void MeasureTurns(const Options& options) {
  Cluster cluster(options.berth, {"--image", "bench/true=/bin/true"});
  MakePool(cluster);
  MeasureTurns(cluster, options.turns);
}

void MeasureChurn(const Options& options) {
  Cluster cluster(options.berth, {"--image", "bench/true=/bin/true"});
  MakePool(cluster);
  MakeQueues(cluster, "32");
  const Flood flood = RunFlood(cluster, options.churn, "bench/true", kJobs, Complete);
  ShowFlood("jobs completed per second, " + std::to_string(options.churn) +
                " real processes, quota for 32",
            flood, options.churn);
}

Json FilledMap(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}}},
          {"data", {{"filler", std::string(1500, 'x')}}}};
}

// The program may be of an earlier commit, so that only flags of all versions are given to it.
void MeasureCreates(const Options& options) {
  constexpr double kSeconds = 3;
  Cluster cluster(options.berth, {"--no-controllers"});
  for (const int writers : {1, 8, 32}) {
    const std::string prefix = "m" + std::to_string(writers) + "-";
    const double server = CpuSeconds(cluster.process());
    const LoadResult load = RunLoad(
        cluster.client(), {.writers = writers, .seconds = kSeconds}, [&](int writer, int number) {
          const std::string name = prefix + std::to_string(writer) + "-" + std::to_string(number);
          return JsonRequest("POST", "/api/v1/namespaces/default/configmaps",
                             FilledMap(name).dump());
        });
    if (load.failed > 0) GiveUp("a create failed: " + load.first_failure);
    const double used = CpuSeconds(cluster.process()) - server;
    Row("durable creates, ConfigMaps of 1.5 kB, " + std::to_string(writers) + " writers",
        Format("%.0f/s, server %.0f us each", load.done / load.seconds, used / load.done * 1e6));
  }
}

// Measures the time from the start of the program to ready with a full store.
void MeasureRestart(const Options& options) {
  constexpr int kObjects = 100'000;
  constexpr int kRounds = 5;
  const char* kMaps = "/api/v1/namespaces/default/configmaps";
  Cluster cluster(options.berth, {});
  const LoadResult load =
      RunLoad(cluster.client(), {.writers = 32, .requests = kObjects}, [&](int writer, int number) {
        return JsonRequest(
            "POST", kMaps,
            FilledMap("m" + std::to_string(writer) + "-" + std::to_string(number)).dump());
      });
  if (load.failed > 0) GiveUp("a create failed: " + load.first_failure);
  std::vector<double> ready;
  std::vector<double> resident;
  std::vector<double> listed;
  std::vector<double> processor;
  for (int i = 0; i < kRounds; ++i) {
    cluster.Restart();
    ready.push_back(cluster.start_seconds() * 1000);
    resident.push_back(PeakResidentMegabytes(cluster.process()));
    processor.push_back(CpuSeconds(cluster.process()) * 1000);
    const Instant start = std::chrono::steady_clock::now();
    const Json page = cluster.Get(std::string(kMaps) + "?limit=500");
    listed.push_back(Milliseconds(start, std::chrono::steady_clock::now()));
    if (page["items"].size() != 500) GiveUp("the objects are not there after a restart");
  }
  const auto row = [](const char* what, const char* format, std::vector<double>& values) {
    Row(what,
        Format(format, Percentile(values, 0.5), Percentile(values, 0), Percentile(values, 1)));
  };
  row("start to ready, 100,000 ConfigMaps of 1.5 kB (aim < 1,000 ms)", "%.0f ms (%.0f to %.0f)",
      ready);
  row("  processor time until then", "%.0f ms (%.0f to %.0f)", processor);
  row("  largest resident size until then (aim < 250 MB)", "%.0f MB (%.0f to %.0f)", resident);
  row("  a first list of 500", "%.0f ms (%.0f to %.0f)", listed);
}

int Run(const Options& options) {
  if (!options.cluster.empty()) {
    Cluster cluster(options.cluster);
    MeasureTurns(cluster, options.turns);
    return 0;
  }
  if (options.Names("creates")) MeasureCreates(options);
  if (options.Names("restart")) MeasureRestart(options);
  if (options.Wants("start")) MeasureStart(options);
  if (options.Wants("kubectl")) MeasureKubectl(options);
  if (options.Wants("latency")) MeasureLatency(options);
  if (options.Wants("turns")) MeasureTurns(options);
  if (options.Wants("throughput")) MeasureThroughput(options);
  if (options.Wants("churn")) MeasureChurn(options);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  berth::bench::Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--kubectl" && has_value) {
      options.kubectl = words[++i];
    } else if (words[i] == "--jobs" && has_value) {
      options.jobs = std::atoi(words[++i].c_str());
    } else if (words[i] == "--churn" && has_value) {
      options.churn = std::atoi(words[++i].c_str());
    } else if (words[i] == "--turns" && has_value) {
      options.turns = std::atoi(words[++i].c_str());
    } else if (words[i] == "--cluster" && has_value) {
      options.cluster = words[++i];
    } else if (words[i] == "--only" && has_value) {
      options.only = words[++i];
    } else {
      options.berth = words[i];
    }
  }
  if (options.berth.empty() && options.cluster.empty())
    berth::bench::GiveUp("which berth? give its path");
  return berth::bench::Run(options);
}
