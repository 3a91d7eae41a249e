#include "local/apiserver/types/defaults.h"

#include <cstdint>
#include <limits>
#include <string>

#include "local/apiserver/types/defaults_internal.h"

namespace berth::local {
namespace {

// "registry:5000/a/b:tag@sha256:…": the tag follows the last colon of the last path part.
std::string PullPolicyFor(const std::string& image) {
  if (image.find('@') != std::string::npos) return "IfNotPresent";
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return !tagged || image.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
}

void DefaultHttpGet(Json& handler) {
  if (Json* get = Inner(handler, "httpGet")) {
    if (IsEmptyText(*get, "path")) (*get)["path"] = "/";
    if (IsEmptyText(*get, "scheme")) (*get)["scheme"] = "HTTP";
  }
}

void DefaultProbe(Json& container, const char* name) {
  Json* probe = Inner(container, name);
  if (probe == nullptr) return;
  SetDefault(*probe, "timeoutSeconds", 1);
  SetDefault(*probe, "periodSeconds", 10);
  SetDefault(*probe, "successThreshold", 1);
  SetDefault(*probe, "failureThreshold", 3);
  DefaultHttpGet(*probe);
  if (Json* grpc = Inner(*probe, "grpc")) SetDefault(*grpc, "service", "");
}

void DefaultContainer(Json& container) {
  if (IsEmptyText(container, "imagePullPolicy")) {
    const std::string image = Text(container, "image");
    container["imagePullPolicy"] = PullPolicyFor(image);
  }
  if (IsEmptyText(container, "terminationMessagePath")) {
    container["terminationMessagePath"] = "/dev/termination-log";
  }
  if (IsEmptyText(container, "terminationMessagePolicy")) {
    container["terminationMessagePolicy"] = "File";
  }
  ForEach(container, "ports", [](Json& port) {
    if (IsEmptyText(port, "protocol")) port["protocol"] = "TCP";
  });
  ForEach(container, "env", [](Json& env) {
    if (Json* from = Inner(env, "valueFrom")) {
      if (Json* field = Inner(*from, "fieldRef")) {
        if (IsEmptyText(*field, "apiVersion")) (*field)["apiVersion"] = "v1";
      }
    }
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    DefaultProbe(container, probe);
  }
  if (Json* lifecycle = Inner(container, "lifecycle")) {
    for (const char* hook : {"postStart", "preStop"}) {
      if (Json* handler = Inner(*lifecycle, hook)) DefaultHttpGet(*handler);
    }
  }
}

void DefaultFieldRefs(Json& volume) {
  ForEach(volume, "items", [](Json& item) {
    if (Json* field = Inner(item, "fieldRef")) {
      if (IsEmptyText(*field, "apiVersion")) (*field)["apiVersion"] = "v1";
    }
  });
}

void DefaultVolume(Json& volume) {
  if (volume.size() <= 1) volume["emptyDir"] = Json::object();  // a name without a source
  for (const char* source : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (Json* body = Inner(volume, source)) SetDefault(*body, "defaultMode", 420);
  }
  if (Json* path = Inner(volume, "hostPath")) SetDefault(*path, "type", "");
  if (Json* downward = Inner(volume, "downwardAPI")) DefaultFieldRefs(*downward);
  if (Json* projected = Inner(volume, "projected")) {
    ForEach(*projected, "sources", [](Json& source) {
      if (Json* downward = Inner(source, "downwardAPI")) DefaultFieldRefs(*downward);
      if (Json* token = Inner(source, "serviceAccountToken")) {
        SetDefault(*token, "expirationSeconds", 3600);
      }
    });
  }
  if (Json* claim = Inner(volume, "ephemeral")) {
    if (Json* pvc = Inner(*claim, "volumeClaimTemplate")) {
      if (Json* spec = Inner(*pvc, "spec")) SetDefault(*spec, "volumeMode", "Filesystem");
    }
  }
}

// Missing requests get the limits; in pods, not in templates.
void DefaultRequests(Json& container) {
  Json* resources = Inner(container, "resources");
  Json* limits = resources == nullptr ? nullptr : Inner(*resources, "limits");
  if (limits == nullptr) return;
  Json& requests = (*resources)["requests"];
  if (!requests.is_object()) requests = Json::object();
  for (const auto& [name, quantity] : limits->items()) {
    if (!requests.contains(name)) requests[name] = quantity;
  }
}

void DefaultPod(Json& pod) {
  Json* spec = Inner(pod, "spec");
  if (spec == nullptr) return;
  DefaultPodSpec(*spec);
  SetDefault(*spec, "enableServiceLinks", true);
  for (const char* list : {"containers", "initContainers"}) {
    ForEach(*spec, list, [](Json& container) { DefaultRequests(container); });
  }
  // On the host network, host ports equal container ports.
  if (spec->value("hostNetwork", Json()) == true) {
    for (const char* list : {"containers", "initContainers"}) {
      ForEach(*spec, list, [](Json& container) {
        ForEach(container, "ports", [](Json& port) {
          if (port.contains("containerPort")) SetDefault(port, "hostPort", port["containerPort"]);
        });
      });
    }
  }
  Json& status = pod["status"];
  if (!status.is_object()) status = Json::object();
  if (IsEmptyText(status, "phase")) status["phase"] = "Pending";
}

void DefaultJobSpec(Json& spec, Json& job) {
  const bool no_completions = spec.value("completions", Json()).is_null();
  const bool no_parallelism = spec.value("parallelism", Json()).is_null();
  if (no_completions && no_parallelism) spec["completions"] = 1;
  if (no_parallelism) spec["parallelism"] = 1;
  const bool per_index = !spec.value("backoffLimitPerIndex", Json()).is_null();
  SetDefault(spec, "backoffLimit",
             per_index ? std::numeric_limits<std::int32_t>::max() : std::int32_t{6});
  if (IsEmptyText(spec, "completionMode")) spec["completionMode"] = "NonIndexed";
  SetDefault(spec, "suspend", false);
  SetDefault(spec, "manualSelector", false);
  Json* policy = Inner(spec, "podFailurePolicy");
  if (policy != nullptr) {
    ForEach(*policy, "rules", [](Json& rule) {
      ForEach(rule, "onPodConditions", [](Json& pattern) {
        if (IsEmptyText(pattern, "status")) pattern["status"] = "True";
      });
    });
  }
  if (IsEmptyText(spec, "podReplacementPolicy")) {
    spec["podReplacementPolicy"] = policy != nullptr ? "Failed" : "TerminatingOrFailed";
  }
  if (Json* pod_template = Inner(spec, "template")) {
    DefaultPodTemplate(*pod_template);
    Json* pod_meta = Inner(*pod_template, "metadata");
    Json* labels = pod_meta == nullptr ? nullptr : Inner(*pod_meta, "labels");
    Json& own = job["metadata"]["labels"];
    if (labels != nullptr && !labels->empty() && own.empty()) own = *labels;
    if (own.is_null()) job["metadata"].erase("labels");
  }
}

void DefaultCronJob(Json& cron_job) {
  Json* spec = Inner(cron_job, "spec");
  if (spec == nullptr) return;
  if (IsEmptyText(*spec, "concurrencyPolicy")) (*spec)["concurrencyPolicy"] = "Allow";
  SetDefault(*spec, "suspend", false);
  SetDefault(*spec, "successfulJobsHistoryLimit", 3);
  SetDefault(*spec, "failedJobsHistoryLimit", 1);
  // A Job in a CronJob is defaulted at its creation, but its pod template is defaulted here.
  if (Json* job = Inner(*spec, "jobTemplate")) {
    if (Json* job_spec = Inner(*job, "spec")) {
      if (Json* pod_template = Inner(*job_spec, "template")) DefaultPodTemplate(*pod_template);
    }
  }
}

// spec.NAME as an object with `type`; returns its member rollingUpdate where that is the type.
Json* DefaultUpdate(Json& spec, const char* name) {
  Json& strategy = spec[name];
  if (!strategy.is_object()) strategy = Json::object();
  if (IsEmptyText(strategy, "type")) strategy["type"] = "RollingUpdate";
  if (strategy["type"] != "RollingUpdate") return nullptr;
  Json& rolling = strategy["rollingUpdate"];
  if (!rolling.is_object()) rolling = Json::object();
  return &rolling;
}

void DefaultClaim(Json& claim) {
  if (Json* spec = Inner(claim, "spec")) SetDefault(*spec, "volumeMode", "Filesystem");
  Json& status = claim["status"];
  if (!status.is_object()) status = Json::object();
  if (IsEmptyText(status, "phase")) status["phase"] = "Pending";
}

void DefaultPersistentVolume(Json& volume) {
  if (Json* spec = Inner(volume, "spec")) {
    if (IsEmptyText(*spec, "persistentVolumeReclaimPolicy")) {
      (*spec)["persistentVolumeReclaimPolicy"] = "Retain";
    }
    SetDefault(*spec, "volumeMode", "Filesystem");
    if (Json* path = Inner(*spec, "hostPath")) SetDefault(*path, "type", "");
  }
  Json& status = volume["status"];
  if (!status.is_object()) status = Json::object();
  if (IsEmptyText(status, "phase")) status["phase"] = "Pending";
}

void DefaultStatefulSet(Json& spec) {
  if (IsEmptyText(spec, "podManagementPolicy")) spec["podManagementPolicy"] = "OrderedReady";
  if (Json* rolling = DefaultUpdate(spec, "updateStrategy")) SetDefault(*rolling, "partition", 0);
  Json& retention = spec["persistentVolumeClaimRetentionPolicy"];
  if (!retention.is_object()) retention = Json::object();
  for (const char* when : {"whenDeleted", "whenScaled"}) {
    if (IsEmptyText(retention, when)) retention[when] = "Retain";
  }
  SetDefault(spec, "revisionHistoryLimit", 10);
  ForEach(spec, "volumeClaimTemplates", [](Json& claim) {
    claim["apiVersion"] = "v1";
    claim["kind"] = "PersistentVolumeClaim";
    DefaultClaim(claim);
  });
}

void DefaultDaemonSet(Json& spec) {
  SetDefault(spec, "revisionHistoryLimit", 10);
  if (Json* rolling = DefaultUpdate(spec, "updateStrategy")) {
    SetDefault(*rolling, "maxUnavailable", 1);
    SetDefault(*rolling, "maxSurge", 0);
  }
}

void DefaultApps(std::string_view kind, Json& object) {
  Json* spec = Inner(object, "spec");
  if (spec == nullptr || kind == "ControllerRevision") return;
  if (Json* pod_template = Inner(*spec, "template")) DefaultPodTemplate(*pod_template);
  if (kind == "DaemonSet") return DefaultDaemonSet(*spec);
  SetDefault(*spec, "replicas", 1);
  if (kind == "StatefulSet") return DefaultStatefulSet(*spec);
  if (kind != "Deployment") return;
  SetDefault(*spec, "revisionHistoryLimit", 10);
  SetDefault(*spec, "progressDeadlineSeconds", 600);
  if (Json* rolling = DefaultUpdate(*spec, "strategy")) {
    SetDefault(*rolling, "maxUnavailable", "25%");
    SetDefault(*rolling, "maxSurge", "25%");
  }
}

void DefaultWebhooks(Json& configuration, bool mutating) {
  ForEach(configuration, "webhooks", [mutating](Json& webhook) {
    if (IsEmptyText(webhook, "failurePolicy")) webhook["failurePolicy"] = "Fail";
    if (IsEmptyText(webhook, "matchPolicy")) webhook["matchPolicy"] = "Equivalent";
    SetDefault(webhook, "namespaceSelector", Json::object());
    SetDefault(webhook, "objectSelector", Json::object());
    SetDefault(webhook, "timeoutSeconds", 10);
    if (mutating && IsEmptyText(webhook, "reinvocationPolicy")) {
      webhook["reinvocationPolicy"] = "Never";
    }
    ForEach(webhook, "rules", [](Json& rule) {
      if (IsEmptyText(rule, "scope")) rule["scope"] = "*";
    });
    if (Json* client = Inner(webhook, "clientConfig")) {
      if (Json* service = Inner(*client, "service")) SetDefault(*service, "port", 443);
    }
  });
}

void DefaultMatchResources(Json& resources) {
  if (IsEmptyText(resources, "matchPolicy")) resources["matchPolicy"] = "Equivalent";
  SetDefault(resources, "namespaceSelector", Json::object());
  SetDefault(resources, "objectSelector", Json::object());
  for (const char* rules : {"resourceRules", "excludeResourceRules"}) {
    ForEach(resources, rules, [](Json& rule) {
      if (IsEmptyText(rule, "scope")) rule["scope"] = "*";
    });
  }
}

void DefaultPolicy(Json& policy) {
  Json* spec = Inner(policy, "spec");
  if (spec == nullptr) return;
  if (IsEmptyText(*spec, "failurePolicy")) (*spec)["failurePolicy"] = "Fail";
  if (Json* constraints = Inner(*spec, "matchConstraints")) DefaultMatchResources(*constraints);
}

void DefaultMutatingPolicy(Json& policy) {
  DefaultPolicy(policy);
  Json* spec = Inner(policy, "spec");
  if (spec != nullptr && IsEmptyText(*spec, "reinvocationPolicy")) {
    (*spec)["reinvocationPolicy"] = "Never";
  }
}

void DefaultPolicyBinding(Json& binding) {
  Json* spec = Inner(binding, "spec");
  Json* resources = spec == nullptr ? nullptr : Inner(*spec, "matchResources");
  if (resources != nullptr) DefaultMatchResources(*resources);
}

void DefaultService(Json& service) {
  Json* spec = Inner(service, "spec");
  if (spec == nullptr) return;
  if (IsEmptyText(*spec, "sessionAffinity")) (*spec)["sessionAffinity"] = "None";
  if (IsEmptyText(*spec, "type")) (*spec)["type"] = "ClusterIP";
  ForEach(*spec, "ports", [](Json& port) {
    if (IsEmptyText(port, "protocol")) port["protocol"] = "TCP";
    const auto target = port.find("targetPort");
    const bool unset = target == port.end() || target->is_null() || *target == 0 ||
                       IsEmptyText(port, "targetPort");
    if (unset && port.contains("port")) port["targetPort"] = port["port"];
  });
  if ((*spec)["type"] != "ExternalName") SetDefault(*spec, "internalTrafficPolicy", "Cluster");
}

void DefaultLimitRange(Json& range) {
  Json* spec = Inner(range, "spec");
  if (spec == nullptr) return;
  ForEach(*spec, "limits", [](Json& item) {
    if (Text(item, "type") != "Container") return;
    const auto fill = [&item](const char* name, const char* from) {
      if (!item.contains(from) || !item[from].is_object()) return;
      Json& target = item[name];
      if (!target.is_object()) target = Json::object();
      for (const auto& [resource, quantity] : item[from].items()) {
        if (!target.contains(resource)) target[resource] = quantity;
      }
    };
    fill("default", "max");
    fill("defaultRequest", "default");
    fill("defaultRequest", "min");
  });
}

void DefaultCrd(Json& crd) {
  Json* spec = Inner(crd, "spec");
  if (spec == nullptr) return;
  Json* names = Inner(*spec, "names");
  if (names != nullptr) {
    const std::string kind = Text(*names, "kind");
    if (IsEmptyText(*names, "singular")) {
      std::string singular = kind;
      for (char& c : singular) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      (*names)["singular"] = singular;
    }
    if (IsEmptyText(*names, "listKind") && !kind.empty()) (*names)["listKind"] = kind + "List";
  }
  if (Inner(*spec, "conversion") == nullptr) (*spec)["conversion"] = {{"strategy", "None"}};
  Json* webhook = Inner((*spec)["conversion"], "webhook");
  Json* client = webhook == nullptr ? nullptr : Inner(*webhook, "clientConfig");
  Json* service = client == nullptr ? nullptr : Inner(*client, "service");
  if (service != nullptr) SetDefault(*service, "port", 443);
}

void DefaultRbac(std::string_view kind, Json& object) {
  if (kind != "RoleBinding" && kind != "ClusterRoleBinding") return;
  static constexpr const char* kGroup = "rbac.authorization.k8s.io";
  if (Json* role = Inner(object, "roleRef")) {
    if (IsEmptyText(*role, "apiGroup")) (*role)["apiGroup"] = kGroup;
  }
  ForEach(object, "subjects", [](Json& subject) {
    const std::string subject_kind = Text(subject, "kind");
    if (IsEmptyText(subject, "apiGroup") && (subject_kind == "User" || subject_kind == "Group")) {
      subject["apiGroup"] = kGroup;
    }
  });
}

// The selector and the labels are those of the template, where they are absent.
void DefaultReplicationController(Json& object) {
  Json* spec = Inner(object, "spec");
  Json* pod_template = spec == nullptr ? nullptr : Inner(*spec, "template");
  if (pod_template == nullptr) return;
  DefaultPodTemplate(*pod_template);
  const Json* metadata = Inner(*pod_template, "metadata");
  const auto labels = metadata == nullptr ? Json::const_iterator() : metadata->find("labels");
  if (metadata == nullptr || labels == metadata->end() || !labels->is_object()) return;
  const auto is_empty = [](const Json& owner, const char* field) {
    const auto found = owner.find(field);
    return found == owner.end() || found->empty();
  };
  if (is_empty(*spec, "selector")) (*spec)["selector"] = *labels;
  if (is_empty(object["metadata"], "labels")) object["metadata"]["labels"] = *labels;
}

void DefaultCore(std::string_view kind, Json& object) {
  if (kind == "Pod") {
    DefaultPod(object);
  } else if (kind == "PodTemplate") {
    if (Json* pod_template = Inner(object, "template")) DefaultPodTemplate(*pod_template);
  } else if (kind == "ReplicationController") {
    DefaultReplicationController(object);
  } else if (kind == "Secret") {
    if (IsEmptyText(object, "type")) object["type"] = "Opaque";
  } else if (kind == "Namespace") {
    Json& status = object["status"];
    if (!status.is_object()) status = Json::object();
    if (IsEmptyText(status, "phase")) status["phase"] = "Active";
  } else if (kind == "Service") {
    DefaultService(object);
  } else if (kind == "LimitRange") {
    DefaultLimitRange(object);
  } else if (kind == "PersistentVolumeClaim") {
    DefaultClaim(object);
  } else if (kind == "PersistentVolume") {
    DefaultPersistentVolume(object);
  }
}

}  // namespace

void DefaultPodSpec(Json& spec) {
  if (!spec.is_object()) return;
  if (IsEmptyText(spec, "restartPolicy")) spec["restartPolicy"] = "Always";
  if (IsEmptyText(spec, "dnsPolicy")) spec["dnsPolicy"] = "ClusterFirst";
  if (IsEmptyText(spec, "schedulerName")) spec["schedulerName"] = "default-scheduler";
  SetDefault(spec, "terminationGracePeriodSeconds", 30);
  SetDefault(spec, "securityContext", Json::object());
  // The deprecated serviceAccount gets the value of serviceAccountName.
  if (!IsEmptyText(spec, "serviceAccountName")) {
    spec["serviceAccount"] = spec["serviceAccountName"];
  } else if (!IsEmptyText(spec, "serviceAccount")) {
    spec["serviceAccountName"] = spec["serviceAccount"];
  }
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    ForEach(spec, list, [](Json& container) { DefaultContainer(container); });
  }
  ForEach(spec, "volumes", [](Json& volume) { DefaultVolume(volume); });
}

void DefaultPodTemplate(Json& pod_template) {
  if (Json* spec = Inner(pod_template, "spec")) DefaultPodSpec(*spec);
}

void ApplyStaticDefaults(std::string_view group, std::string_view /*version*/,
                         std::string_view kind, Json& object) {
  if (!object.is_object()) return;
  if (group.empty()) {
    DefaultCore(kind, object);
  } else if (group == "batch" && kind == "Job") {
    if (Json* spec = Inner(object, "spec")) DefaultJobSpec(*spec, object);
  } else if (group == "apps") {
    DefaultApps(kind, object);
  } else if (group == "batch" && kind == "CronJob") {
    DefaultCronJob(object);
  } else if (group == "scheduling.k8s.io" && kind == "PriorityClass") {
    SetDefault(object, "preemptionPolicy", "PreemptLowerPriority");
  } else if (group == "admissionregistration.k8s.io") {
    if (kind == "MutatingWebhookConfiguration") DefaultWebhooks(object, true);
    if (kind == "ValidatingWebhookConfiguration") DefaultWebhooks(object, false);
    if (kind == "ValidatingAdmissionPolicy") DefaultPolicy(object);
    if (kind == "MutatingAdmissionPolicy") DefaultMutatingPolicy(object);
    if (kind == "MutatingAdmissionPolicyBinding") DefaultPolicyBinding(object);
    if (kind == "ValidatingAdmissionPolicyBinding") DefaultPolicyBinding(object);
  } else if (group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition") {
    DefaultCrd(object);
  } else if (group == "rbac.authorization.k8s.io") {
    DefaultRbac(kind, object);
  } else {
    DefaultStoredKind(group, kind, object);
  }
}

}  // namespace berth::local
