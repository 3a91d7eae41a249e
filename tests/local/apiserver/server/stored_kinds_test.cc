// Goal: kinds that the server stores for others get Kubernetes' defaults and columns, and its words
// against frequent mistakes. Method: one refused object a row; one accepted object a kind.
#include <gmock/gmock.h>

#include "api/yaml/yaml.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

class StoredKindsTest : public ServerTest {
 protected:
  static std::string Path(const std::string& group, const std::string& plural,
                          const std::string& version = "v1") {
    const bool is_namespaced = plural == "ingresses" || plural == "networkpolicies" ||
                               plural == "horizontalpodautoscalers" ||
                               plural == "csistoragecapacities";
    return "/apis/" + group + "/" + version + (is_namespaced ? "/namespaces/default/" : "/") +
           plural;
  }
  // "201", or the message after "is invalid: ".
  std::string Outcome(const std::string& path, const std::string& yaml) {
    Json object = api::ParseYaml(yaml)->value;
    object["metadata"]["name"] = "k" + std::to_string(++count_);
    return Told(Post(path, object));
  }
  static std::string Told(const Answer& answer) {
    if (answer.status < 400) return std::to_string(answer.status);
    const std::string text = answer.message();
    const std::size_t at = text.find(" is invalid: ");
    return at == std::string::npos ? text : text.substr(at + 13);
  }
  Json Cells(const std::string& path) {
    const Answer table = Get(path, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
    return table.json["rows"][0]["cells"];
  }
  int count_ = 0;
};

struct MistakeRow {
  const char* yaml;
  const char* outcome;
};

TEST_F(StoredKindsTest, AnIngressIsValidatedAndShownInATable) {
  const std::string path = Path("networking.k8s.io", "ingresses");
  const MistakeRow rows[] = {
      {"spec: {}",
       "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
      {"spec: {defaultBackend: {}}",
       "spec.defaultBackend: Invalid value: \"\": resource or service backend is required"},
      {"spec: {defaultBackend: {service: {name: web}}}",
       "spec.defaultBackend: Required value: port name or number is required"},
      {"spec: {rules: [{http: {paths: []}}]}", "spec.rules[0].http.paths: Required value"},
      {"spec: {rules: [{http: {paths: [{path: /a, backend: {service: {name: a, port: {number: "
       "1}}}}]}}]}",
       "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
      {"spec: {rules: [{http: {paths: [{path: a//b, pathType: Exact, backend: {service: {name: a, "
       "port: {number: 70000}}}}]}}]}",
       "[spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must be an absolute path, "
       "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must not contain '//', "
       "spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 70000: must be "
       "between 1 and 65535, inclusive]"},
      {"spec: {rules: [{host: 10.0.0.1}]}",
       "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address"},
      {"spec: {rules: [{host: '*.example.com'}], ingressClassName: nginx}", "201"},
  };
  for (const MistakeRow& row : rows) EXPECT_EQ(Outcome(path, row.yaml), row.outcome) << row.yaml;
  const Json cells = Cells(path);
  EXPECT_EQ(cells[1], "nginx");
  EXPECT_EQ(cells[2], "*.example.com");
  EXPECT_EQ(cells[4], "80");
}

TEST_F(StoredKindsTest, AFlowSchemaIsValidatedAndDefaulted) {
  const std::string path = Path("flowcontrol.apiserver.k8s.io", "flowschemas");
  const MistakeRow rows[] = {
      {"spec: {priorityLevelConfiguration: {name: a}, matchingPrecedence: 10001}",
       "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"},
      {"spec: {matchingPrecedence: 1}",
       "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"},
      {"spec: {priorityLevelConfiguration: {name: a}}", "201"},
  };
  for (const MistakeRow& row : rows) EXPECT_EQ(Outcome(path, row.yaml), row.outcome) << row.yaml;
  EXPECT_EQ(Get(path + "/k3").json["spec"]["matchingPrecedence"], 1000);
}

TEST_F(StoredKindsTest, PriorityLevelConfigurationsAreValidated) {
  const std::string path = Path("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
  const MistakeRow rows[] = {
      {"spec: {type: Limited}",
       "spec.limited: Required value: must not be empty when type is Limited"},
      {"spec: {type: Exempt, limited: {}}",
       "spec.limited: Forbidden: must be nil if the type is not Limited"},
      {"spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {queues: 2}}}}",
       "201"},
  };
  for (const MistakeRow& row : rows) EXPECT_EQ(Outcome(path, row.yaml), row.outcome) << row.yaml;
  const Json limited = Get(path + "/k3").json["spec"]["limited"];
  EXPECT_EQ(limited["nominalConcurrencyShares"], 30);
  EXPECT_EQ(limited["limitResponse"]["queuing"],
            (Json{{"queues", 2}, {"handSize", 8}, {"queueLengthLimit", 50}}));
}

// What servers of extensions read at their start.
TEST_F(StoredKindsTest, ClientAuthoritiesArePublishedForExtensions) {
  const std::string name = "/extension-apiserver-authentication";
  const Json map = Get("/api/v1/namespaces/kube-system/configmaps" + name).json;
  EXPECT_TRUE(map["data"]["client-ca-file"].is_string()) << map;
  EXPECT_NE(map["data"]["requestheader-client-ca-file"], map["data"]["client-ca-file"])
      << "certificates of users do not make front proxies";
  EXPECT_EQ(map["data"]["requestheader-allowed-names"], "[\"front-proxy-client\"]");
  const Json role =
      Get("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles" + name + "-reader")
          .json;
  EXPECT_EQ(role["rules"][0]["resourceNames"], Json::array({name.substr(1)})) << role;
}

TEST_F(StoredKindsTest, AnIngressClassKeepsItsControllerAndGetsItsScope) {
  const std::string path = Path("networking.k8s.io", "ingressclasses");
  EXPECT_EQ(Outcome(path, "spec: {}"), "spec.controller: Required value");
  EXPECT_EQ(Outcome(path, "spec: {controller: nginx}"),
            "spec.controller: Invalid value: \"nginx\": must be a domain-prefixed path (such as "
            "\"acme.io/foo\")");
  EXPECT_EQ(Outcome(path, "spec: {controller: a.io/b, parameters: {kind: C, name: c}}"), "201");
  EXPECT_EQ(Get(path + "/k3").json["spec"]["parameters"]["scope"], "Cluster");
  EXPECT_EQ(Told(Patch(path + "/k3", "merge", {{"spec", {{"controller", "a.io/c"}}}})),
            "spec.controller: Invalid value: \"a.io/c\": field is immutable");
  EXPECT_EQ(Cells(path)[2], "C/c");
}

TEST_F(StoredKindsTest, ANetworkPolicyIsValidatedAndDefaulted) {
  const std::string path = Path("networking.k8s.io", "networkpolicies");
  const MistakeRow rows[] = {
      {"spec: {podSelector: {}, ingress: [{from: [{}]}]}",
       "spec.ingress[0].from[0]: Required value: must specify a peer"},
      {"spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.1}}]}]}",
       "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.1\": must be a valid CIDR "
       "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"},
      {"spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}",
       "spec.egress[0].to[0].ipBlock.cidr: Invalid value: \"10.0.0.1/8\": must not have bits set "
       "beyond the prefix length"},
      {"spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: "
       "[11.0.0.0/16]}}]}]}",
       "spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict "
       "subset of `cidr`"},
      {"spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: '2001:db8::/32', except: "
       "['2001:db8:1::/48']}}]}]}",
       "201"},
      {"spec: {podSelector: {}, ingress: [{ports: [{port: a--b}, {port: 80, endPort: 70}]}]}",
       "[spec.ingress[0].ports[0].port: Invalid value: \"a--b\": must not contain consecutive "
       "hyphens, spec.ingress[0].ports[1].endPort: Invalid value: 80: must be greater than or "
       "equal to `port`]"},
      {"spec: {podSelector: {}, policyTypes: [Both]}",
       "spec.policyTypes[0]: Unsupported value: \"Both\": supported values: \"Ingress\", "
       "\"Egress\""},
  };
  for (const MistakeRow& row : rows) EXPECT_EQ(Outcome(path, row.yaml), row.outcome) << row.yaml;
  const Json spec = Get(path + "/k5").json["spec"];
  EXPECT_EQ(spec["policyTypes"], Json::array({"Ingress", "Egress"}));
  EXPECT_EQ(Cells(path)[1], "<none>");
}

TEST_F(StoredKindsTest, AnAutoscalerIsValidatedDefaultedAndShownInATable) {
  const std::string path = Path("autoscaling", "horizontalpodautoscalers", "v2");
  const std::string target =
      "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "
      "web}, ";
  const MistakeRow rows[] = {
      {"maxReplicas: 0}",
       "[spec.maxReplicas: Required value: must be set and greater than 0, spec.maxReplicas: "
       "Invalid value: 0: must be greater than or equal to `minReplicas`]"},
      {"minReplicas: 0, maxReplicas: 1}",
       "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"},
      {"maxReplicas: 1, metrics: [{type: Pods}]}",
       "spec.metrics[0].pods: Required value: must populate information for the given metric "
       "source"},
      {"maxReplicas: 1, metrics: [{type: Resource, resource: {name: cpu, target: {type: "
       "Utilization}}}]}",
       "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a "
       "target raw value or a target utilization"},
      {"maxReplicas: 1, behavior: {scaleUp: {policies: [{type: Pods, value: 0, periodSeconds: "
       "15}]}}}",
       "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero"},
      {"maxReplicas: 3, behavior: {scaleDown: {selectPolicy: Min}}}", "201"},
  };
  for (const MistakeRow& row : rows) {
    EXPECT_EQ(Outcome(path, target + row.yaml), row.outcome) << row.yaml;
  }
  const Json spec = Get(path + "/k6").json["spec"];
  EXPECT_EQ(spec["minReplicas"], 1);
  EXPECT_EQ(spec["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
  EXPECT_EQ(spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"], 0);
  EXPECT_EQ(spec["behavior"]["scaleDown"]["policies"].size(), 1U);
  const Json cells = Cells(path);
  EXPECT_EQ(cells[1], "Deployment/web");
  EXPECT_EQ(cells[2], "cpu: <unknown>/80%");
  EXPECT_EQ(cells[3], "1");
}

TEST_F(StoredKindsTest, StorageClassesAreValidatedDefaultedAndImmutable) {
  const std::string path = Path("storage.k8s.io", "storageclasses");
  EXPECT_EQ(Outcome(path, "provisioner: ''"), "provisioner: Required value");
  EXPECT_EQ(Outcome(path, "{provisioner: a.io/b, reclaimPolicy: Keep}"),
            "reclaimPolicy: Unsupported value: \"Keep\": supported values: \"Delete\", "
            "\"Retain\"");
  EXPECT_EQ(Outcome(path, "provisioner: a.io/b"), "201");
  EXPECT_EQ(Get(path + "/k3").json["volumeBindingMode"], "Immediate");
  EXPECT_EQ(Told(Patch(path + "/k3", "merge", {{"reclaimPolicy", "Retain"}})),
            "reclaimPolicy: Invalid value: \"Retain\": field is immutable");
  EXPECT_EQ(Told(Patch(path + "/k3", "merge", {{"allowVolumeExpansion", true}})), "200");
  EXPECT_EQ(Cells(path)[2], "Delete");
  const std::string attributes = Path("storage.k8s.io", "volumeattributesclasses");
  EXPECT_EQ(Outcome(attributes, "driverName: a.io"),
            "parameters: Required value: must contain at least one key/value pair");
  EXPECT_EQ(Outcome(attributes, "{driverName: a.io, parameters: {a: b}}"), "201");
}

TEST_F(StoredKindsTest, StorageDriversAreValidatedAndDefaulted) {
  const std::string drivers = Path("storage.k8s.io", "csidrivers");
  EXPECT_EQ(Outcome(drivers, "spec: {tokenRequests: [{audience: a, expirationSeconds: 1}]}"),
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration "
            "less than 10 minutes");
  EXPECT_EQ(Outcome(drivers, "spec: {}"), "201");
  EXPECT_EQ(Get(drivers + "/k2").json["spec"]["volumeLifecycleModes"], Json::array({"Persistent"}));
  EXPECT_EQ(Cells(drivers)[1], true);
  const Json without_version{{"metadata", {{"name", "k2"}}}, {"spec", Json::object()}};
  EXPECT_EQ(Told(Put(drivers + "/k2", without_version)),
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update");
  const std::string nodes = Path("storage.k8s.io", "csinodes");
  EXPECT_EQ(Outcome(nodes, "spec: {drivers: [{name: '', nodeID: ''}]}"),
            "[spec.drivers[0].name: Required value, spec.drivers[0].nodeID: Required value]");
  EXPECT_EQ(Outcome(nodes, "spec: {drivers: [{name: a.io, nodeID: node-1}]}"), "201");
  EXPECT_EQ(Cells(nodes)[1], 1);
  const std::string capacities = Path("storage.k8s.io", "csistoragecapacities");
  EXPECT_EQ(Outcome(capacities, "{storageClassName: c, capacity: 1024Mi}"), "201");
  EXPECT_EQ(Cells(capacities)[2], "1Gi");
  const std::string attachments = Path("storage.k8s.io", "volumeattachments");
  EXPECT_EQ(Outcome(attachments, "spec: {attacher: a.io, nodeName: node-1, source: {}}"),
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
            "persistentVolumeName");
  EXPECT_EQ(Outcome(attachments,
                    "spec: {attacher: a.io, nodeName: node-1, source: {persistentVolumeName: v}}"),
            "201");
  EXPECT_EQ(Cells(attachments)[4], false);
}

TEST_F(StoredKindsTest, ARuntimeClassHasARequiredImmutableHandler) {
  const std::string path = Path("node.k8s.io", "runtimeclasses");
  EXPECT_EQ(Outcome(path, "{}"), "handler: Required value");
  EXPECT_EQ(Outcome(path, "handler: runc"), "201");
  EXPECT_EQ(Told(Patch(path + "/k2", "merge", {{"handler", "other"}})),
            "handler: Invalid value: \"other\": field is immutable");
  EXPECT_EQ(Cells(path)[1], "runc");
}

TEST_F(StoredKindsTest, VolumesAndClaimsAreValidated) {
  constexpr const char* kVolumes = "/api/v1/persistentvolumes";
  EXPECT_EQ(Outcome(kVolumes, "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}}"),
            "spec: Required value: must specify a volume type");
  EXPECT_EQ(Outcome(kVolumes,
                    "spec: {accessModes: [Some], capacity: {storage: 1Gi}, hostPath: {path: /a}}"),
            "spec.accessModes: Unsupported value: \"Some\": supported values: \"ReadOnlyMany\", "
            "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"");
  EXPECT_EQ(
      Outcome(
          kVolumes,
          "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a}}"),
      "201");
  const Json volume = Get(std::string(kVolumes) + "/k3").json;
  EXPECT_EQ(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
  EXPECT_EQ(volume["metadata"]["finalizers"], Json::array({"kubernetes.io/pv-protection"}));
  EXPECT_EQ(
      Told(Patch(std::string(kVolumes) + "/k3", "merge",
                 {{"spec", {{"hostPath", {{"path", "/b"}}}}}})),
      "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
      "creation");
  EXPECT_EQ(Cells(kVolumes)[2], "RWO");
}

TEST_F(StoredKindsTest, ClaimsGetTheDefaultClass) {
  constexpr const char* kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const std::string classes = Path("storage.k8s.io", "storageclasses");
  Json storage_class{{"metadata", {{"name", "usual"}}}, {"provisioner", "a.io/b"}};
  storage_class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] = "true";
  ASSERT_EQ(Post(classes, storage_class).status, 201);
  Json claim{
      {"metadata", {{"name", "c"}}},
      {"spec",
       {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  const Answer created = Post(kClaims, claim);
  EXPECT_EQ(created.json["spec"]["storageClassName"], "usual") << created.text;
  EXPECT_EQ(created.json["metadata"]["finalizers"], Json::array({"kubernetes.io/pvc-protection"}));
  claim["metadata"]["name"] = "d";
  claim["spec"]["storageClassName"] = "";
  EXPECT_EQ(Post(kClaims, claim).json["spec"]["storageClassName"], "");
  EXPECT_EQ(Told(Patch(std::string(kClaims) + "/c", "merge",
                       {{"spec", {{"resources", {{"requests", {{"storage", "2Gi"}}}}}}}})),
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be "
            "resized and the storageclass that provisions the pvc must support resize");
}

}  // namespace
}  // namespace berth::local
