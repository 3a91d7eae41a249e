// Goal: the defaults of a real server. Method: objects before and after, whole.
#include "local/apiserver/types/defaults.h"

#include <gmock/gmock.h>

#include "api/yaml/yaml.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/types/type_table.h"

namespace berth::local {
namespace {

Json Yaml(std::string_view text) { return api::ParseYaml(text)->value; }

Json Defaulted(const char* group, const char* kind, std::string_view yaml) {
  static const TypeTable kTypes = TypeTable::Builtin();
  Json object = Yaml(yaml);
  NormalizeBuiltin(*kTypes.Find(group, "v1", kind), object);
  ApplyStaticDefaults(group, "v1", kind, object);
  Json again = object;
  ApplyStaticDefaults(group, "v1", kind, again);
  EXPECT_EQ(again, object) << "not idempotent";
  return object;
}

TEST(DefaultsTest, AJobAndItsContainersGetTheirDefaults) {
  EXPECT_EQ(Defaulted("batch", "Job", R"(
spec:
  template:
    metadata: {labels: {a: b}}
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: registry:5000/busybox
        resources: {limits: {cpu: 0.5}}
        ports: [{containerPort: 80}]
      - {name: d, image: "x:1"}
)"),
            Yaml(R"(
metadata: {labels: {a: b}}
spec:
  parallelism: 1
  completions: 1
  backoffLimit: 6
  completionMode: NonIndexed
  suspend: false
  manualSelector: false
  podReplacementPolicy: TerminatingOrFailed
  template:
    metadata: {labels: {a: b}}
    spec:
      restartPolicy: Never
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
      containers:
      - name: c
        image: registry:5000/busybox
        imagePullPolicy: Always
        resources: {limits: {cpu: 500m}}
        ports: [{containerPort: 80, protocol: TCP}]
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      - name: d
        image: "x:1"
        imagePullPolicy: IfNotPresent
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
status: {}
)"));
}

TEST(DefaultsTest, TheDefaultsOfAJobDependOnWhatItSets) {
  const Json parallel = Defaulted("batch", "Job", "spec: {parallelism: 3}");
  EXPECT_FALSE(parallel["spec"].contains("completions"));
  EXPECT_FALSE(parallel["metadata"].contains("labels"));
  const Json per_index =
      Defaulted("batch", "Job",
                "spec: {completions: 2, backoffLimitPerIndex: 1, podFailurePolicy: {rules: "
                "[{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}");
  EXPECT_EQ(per_index["spec"]["parallelism"], 1);
  EXPECT_EQ(per_index["spec"]["backoffLimit"], 2147483647);
  EXPECT_EQ(per_index["spec"]["podReplacementPolicy"], "Failed");
  EXPECT_EQ(per_index["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"],
            "True");
}

TEST(DefaultsTest, PodTakesRequestsFromLimits) {
  const Json pod = Defaulted("", "Pod", R"(
spec:
  containers:
  - {name: c, image: "a@sha256:0", resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}},
     livenessProbe: {httpGet: {port: 80}}}
  volumes: [{name: v, configMap: {name: m}}, {name: e}]
)");
  const Json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["resources"]["requests"], Yaml("{cpu: 500m, memory: 1Gi}"));
  EXPECT_EQ(container["imagePullPolicy"], "IfNotPresent");
  EXPECT_EQ(container["livenessProbe"],
            Yaml("{httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: "
                 "10, successThreshold: 1, failureThreshold: 3}"));
  EXPECT_EQ(pod["spec"]["volumes"],
            Yaml("[{name: v, configMap: {name: m, defaultMode: 420}}, {name: e, emptyDir: {}}]"));
  EXPECT_EQ(pod["spec"]["restartPolicy"], "Always");
  EXPECT_EQ(pod["spec"]["enableServiceLinks"], true);
  EXPECT_EQ(pod["status"]["phase"], "Pending");
}

TEST(DefaultsTest, WebhooksAndCrdsGetTheirDefaults) {
  EXPECT_EQ(Defaulted("admissionregistration.k8s.io", "MutatingWebhookConfiguration",
                      "webhooks: [{name: a, clientConfig: {service: {name: s, namespace: n}}, "
                      "rules: [{resources: [jobs]}], sideEffects: None, "
                      "admissionReviewVersions: [v1]}]")["webhooks"][0],
            Yaml("{name: a, clientConfig: {service: {name: s, namespace: n, port: 443}}, rules: "
                 "[{resources: [jobs], scope: '*'}], sideEffects: None, admissionReviewVersions: "
                 "[v1], failurePolicy: Fail, matchPolicy: Equivalent, namespaceSelector: {}, "
                 "objectSelector: {}, timeoutSeconds: 10, reinvocationPolicy: Never}"));
  const Json crd = Defaulted("apiextensions.k8s.io", "CustomResourceDefinition",
                             "spec: {names: {kind: LocalQueue, plural: localqueues}}");
  EXPECT_EQ(crd["spec"]["names"], Yaml("{kind: LocalQueue, plural: localqueues, singular: "
                                       "localqueue, listKind: LocalQueueList}"));
  EXPECT_EQ(crd["spec"]["conversion"], Yaml("{strategy: None}"));
  EXPECT_EQ(Defaulted("", "Secret", "data: {a: eA==}")["type"], "Opaque");
  EXPECT_EQ(Defaulted("scheduling.k8s.io", "PriorityClass", "value: 5")["preemptionPolicy"],
            "PreemptLowerPriority");
  EXPECT_EQ(Defaulted("batch", "CronJob",
                      "spec: {schedule: '* * * * *'}")["spec"]["successfulJobsHistoryLimit"],
            3);
}

}  // namespace
}  // namespace berth::local
