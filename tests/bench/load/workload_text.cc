#include "tests/bench/load/workload_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace berth::bench {
namespace {

constexpr std::size_t kCoresPerWorkload = 4;
constexpr std::size_t kSpareCores = 20;

// 0 name, 1 namespace, 2 number (of uids and versions), 3 Job, 4 creation, 5 priority,
// 6 the varying part of the Job's arguments, 7 status.
constexpr std::string_view kWorkload =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"creationTimestamp":"${4}",)"
    R"("finalizers":["kueue.x-k8s.io/resource-in-use"],"generation":1,"labels":{)"
    R"("kueue.x-k8s.io/job-uid":"7b1f0c52-94a6-4d0e-8a33-${2}","team":"vision"},"managedFields":[)"
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{)"
    R"("f:finalizers":{".":{},"v:\"kueue.x-k8s.io/resource-in-use\"":{}},"f:labels":{".":{},)"
    R"("f:kueue.x-k8s.io/job-uid":{},"f:team":{}},"f:ownerReferences":{".":{},)"
    R"("k:{\"uid\":\"7b1f0c52-94a6-4d0e-8a33-${2}\"}":{}}},"f:spec":{".":{},"f:active":{},)"
    R"("f:podSets":{".":{},"k:{\"name\":\"main\"}":{".":{},"f:count":{},"f:name":{},"f:template":{)"
    R"(".":{},"f:metadata":{".":{},"f:labels":{".":{},"f:app":{}}},"f:spec":{".":{},)"
    R"("f:containers":{},"f:dnsPolicy":{},"f:nodeSelector":{},"f:restartPolicy":{},)"
    R"("f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{},)"
    R"("f:tolerations":{},"f:volumes":{}}}}},"f:priority":{},"f:priorityClassRef":{},)"
    R"("f:queueName":{}}},"manager":"kueue","operation":"Update","time":"${4}"},)"
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","fieldsType":"FieldsV1","fieldsV1":{"f:status":{)"
    R"("f:conditions":{"k:{\"type\":\"QuotaReserved\"}":{".":{},"f:lastTransitionTime":{},)"
    R"("f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},)"
    R"("f:resourceRequests":{"k:{\"name\":\"main\"}":{".":{},"f:name":{},"f:resources":{".":{},)"
    R"("f:cpu":{},"f:memory":{},"f:nvidia.com/gpu":{}}}}}},"manager":"kueue-admission",)"
    R"("operation":"Apply","subresource":"status","time":"${4}"}],"name":"${0}",)"
    R"("namespace":"${1}","ownerReferences":[{"apiVersion":"batch/v1","blockOwnerDeletion":true,)"
    R"("controller":true,"kind":"Job","name":"${3}","uid":"7b1f0c52-94a6-4d0e-8a33-${2}"}],)"
    R"("resourceVersion":"${2}","uid":"c0ffee00-1d2e-4f3a-9b4c-${2}"},"spec":{"active":true,)"
    R"("podSets":[{"count":2,"name":"main","template":{"metadata":{"labels":{"app":"train"}},)"
    R"("spec":{"containers":[{"args":["--config=/etc/train/resnet50.yaml",)"
    R"("--data=s3://team-vision/imagenet-2012/shards","--checkpoint-every=1000","--seed=${6}"],)"
    R"("command":["python3","-m","train.main"],"env":[{"name":"NCCL_DEBUG","value":"WARN"},)"
    R"({"name":"OMP_NUM_THREADS","value":"2"},{"name":"PYTHONUNBUFFERED","value":"1"},)"
    R"({"name":"AWS_REGION","value":"eu-central-1"},{"name":"POD_NAME","valueFrom":{"fieldRef":{)"
    R"("apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"HF_TOKEN","valueFrom":{)"
    R"("secretKeyRef":{"key":"token","name":"hugging-face"}}}],)"
    R"("image":"registry.example.com/vision/train:2026.01.3","imagePullPolicy":"IfNotPresent",)"
    R"("name":"train","resources":{"limits":{"cpu":"2","memory":"8Gi","nvidia.com/gpu":"1"},)"
    R"("requests":{"cpu":"2","memory":"8Gi","nvidia.com/gpu":"1"}},"securityContext":{)"
    R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}},)"
    R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)"
    R"("volumeMounts":[{"mountPath":"/dev/shm","name":"shm"},{"mountPath":"/etc/train",)"
    R"("name":"config","readOnly":true}]}],"dnsPolicy":"ClusterFirst","nodeSelector":{)"
    R"("topology.kubernetes.io/region":"eu-central-1"},"restartPolicy":"Never",)"
    R"("schedulerName":"default-scheduler","securityContext":{"fsGroup":1000,"runAsNonRoot":true,)"
    R"("runAsUser":1000},"terminationGracePeriodSeconds":30,"tolerations":[{)"
    R"("effect":"NoSchedule","key":"nvidia.com/gpu","operator":"Exists"}],"volumes":[{"emptyDir":{)"
    R"("medium":"Memory","sizeLimit":"2Gi"},"name":"shm"},{"configMap":{"defaultMode":420,)"
    R"("name":"train-config"},"name":"config"}]}}}],"priority":${5},"priorityClassRef":{)"
    R"("group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"research-p${5}"},)"
    R"("queueName":"default-queue"},"status":${7}})";

// 0 time, 1 namespace and ClusterQueue.
constexpr std::string_view kPending =
    R"({"conditions":[{"lastTransitionTime":"${0}","message":"couldn't assign flavors to pod set main: )"
    R"(insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed",)"
    R"("observedGeneration":1,"reason":"Pending","status":"False","type":"QuotaReserved"}],)"
    R"("resourceRequests":[{"name":"main","resources":{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"2"}}]})";

constexpr std::string_view kAdmitted =
    R"({"admission":{"clusterQueue":"${1}","podSetAssignments":[{"count":2,"flavors":{"cpu":"a100",)"
    R"("memory":"a100","nvidia.com/gpu":"a100"},"name":"main","resourceUsage":{"cpu":"4",)"
    R"("memory":"16Gi","nvidia.com/gpu":"2"}}]},"conditions":[{"lastTransitionTime":"${0}",)"
    R"("message":"Quota reserved in ClusterQueue ${1}","observedGeneration":1,)"
    R"("reason":"QuotaReserved","status":"True","type":"QuotaReserved"},{)"
    R"("lastTransitionTime":"${0}","message":"The workload is admitted","observedGeneration":1,)"
    R"("reason":"Admitted","status":"True","type":"Admitted"},{"lastTransitionTime":"${0}",)"
    R"("message":"All pods were ready or succeeded since the workload admission",)"
    R"("observedGeneration":1,"reason":"Started","status":"True","type":"PodsReady"}]})";

// 0 name, 1 cohort, 2 cores, 3 GPUs, 4 GiB.
constexpr std::string_view kClusterQueue =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"${0}",)"
    R"("uid":"cq-${0}","resourceVersion":"10","generation":1,)"
    R"("creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["kueue.x-k8s.io/resource-in-use"]},)"
    R"("spec":{"cohortName":"${1}","namespaceSelector":{},"preemption":{)"
    R"("withinClusterQueue":"LowerPriority","reclaimWithinCohort":"Any"},"resourceGroups":[{)"
    R"("coveredResources":["cpu","memory","nvidia.com/gpu"],"flavors":[{"name":"a100","resources":[)"
    R"({"name":"cpu","nominalQuota":"${2}"},{"name":"memory","nominalQuota":"${4}Gi"},)"
    R"({"name":"nvidia.com/gpu","nominalQuota":"${3}"}]}]}]}})";

constexpr std::string_view kLocalQueue =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{)"
    R"("name":"default-queue","namespace":"${0}","uid":"lq-${0}","resourceVersion":"10",)"
    R"("generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"clusterQueue":"${0}"}})";

constexpr std::string_view kNamespace =
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${0}","uid":"ns-${0}",)"
    R"("resourceVersion":"10","labels":{"kubernetes.io/metadata.name":"${0}"}},"status":{)"
    R"("phase":"Active"}})";

constexpr std::string_view kFlavor =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"a100",)"
    R"("uid":"flavor","resourceVersion":"10","finalizers":["kueue.x-k8s.io/resource-in-use"]},)"
    R"("spec":{"nodeLabels":{"topology.kubernetes.io/region":"eu-central-1"}}})";

std::string Padded(std::size_t number, int width) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%0*zu", width, number);
  return text.data();
}

std::string QueueName(std::size_t queue) { return "team-" + Padded(queue, 4); }

// The creation time: spread over ten days, not in order of the names.
std::string CreationOf(std::size_t number) {
  const std::size_t second = number * 7919 % 864000;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "2026-01-%02zuT%02zu:%02zu:%02zuZ", 5 + second / 86400,
                second / 3600 % 24, second / 60 % 60, second % 60);
  return text.data();
}

}  // namespace

TextWithHoles::TextWithHoles(std::string_view text) {
  while (!text.empty()) {
    const std::size_t hole = text.find("${");
    Piece& piece = pieces_.emplace_back();
    piece.text = text.substr(0, hole);
    if (hole == std::string_view::npos) return;
    piece.hole = text[hole + 2] - '0';
    text.remove_prefix(hole + 4);
  }
}

void TextWithHoles::AppendTo(std::string& out, const std::vector<std::string>& values) const {
  for (const Piece& piece : pieces_) {
    out += piece.text;
    if (piece.hole >= 0) out += values[static_cast<std::size_t>(piece.hole)];
  }
}

WorkloadText::WorkloadText(const LoadSize& size)
    : size_(size), workload_(kWorkload), pending_(kPending), admitted_(kAdmitted) {}

std::size_t WorkloadText::QueueOf(std::size_t number) const {
  return number * size_.queues / size_.workloads;
}

void WorkloadText::AppendWorkload(std::string& out, std::size_t number) const {
  const std::string space = QueueName(QueueOf(number));
  const std::string job = "train-resnet50-" + Padded(number, 7);
  const std::string creation = CreationOf(number);
  const bool admitted = number % 100 < size_.admitted_percent;
  std::string status;
  (admitted ? admitted_ : pending_).AppendTo(status, {creation, space});
  const std::size_t seed = size_.templates == Templates::kOwn ? number : number / 1000;
  workload_.AppendTo(out, {"job-" + job + "-3f9c1", space, Padded(number + 1000, 12), job, creation,
                           std::to_string(50 + number % 3 * 50), std::to_string(seed), status});
}

std::string WorkloadText::WorkloadPage(std::size_t from, std::size_t limit) const {
  const std::size_t end = limit == 0 ? size_.workloads : std::min(from + limit, size_.workloads);
  std::string page =
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"WorkloadList","metadata":{"resourceVersion":"9000000")";
  if (end < size_.workloads) {
    page += R"(,"continue":")" + std::to_string(end) + R"(","remainingItemCount":)" +
            std::to_string(size_.workloads - end);
  }
  page += R"(},"items":[)";
  page.reserve(page.size() + (end - from) * 6000);
  for (std::size_t number = from; number < end; ++number) {
    if (number != from) page += ',';
    AppendWorkload(page, number);
  }
  page += "]}\n";
  return page;
}

std::string WorkloadText::Items(const std::string& plural) const {
  const TextWithHoles cluster_queue(kClusterQueue);
  const TextWithHoles local_queue(kLocalQueue);
  const TextWithHoles space(kNamespace);
  if (plural == "resourceflavors") return std::string(kFlavor);
  std::string items;
  const std::size_t admitted = size_.workloads * size_.admitted_percent / 100 / size_.queues + 100;
  const std::size_t cores = admitted * kCoresPerWorkload + kSpareCores;
  for (std::size_t queue = 0; queue < size_.queues; ++queue) {
    const std::vector<std::string> values{
        QueueName(queue), "cohort-" + std::to_string(queue % size_.cohorts), std::to_string(cores),
        std::to_string(cores / 2), std::to_string(cores * 4)};
    if (plural == "clusterqueues") {
      cluster_queue.AppendTo(items, values);
    } else if (plural == "localqueues") {
      local_queue.AppendTo(items, values);
    } else if (plural == "namespaces") {
      space.AppendTo(items, values);
    } else {
      return items;
    }
    if (queue + 1 < size_.queues) items += ',';
  }
  return items;
}

std::string WorkloadText::OtherList(const std::string& plural) const {
  return R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"9000000"},"items":[)" +
         Items(plural) + "]}\n";
}

}  // namespace berth::bench
