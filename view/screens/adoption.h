// view/screens/adoption.h — `berth adopt --check`: what Berth does with the objects of a cluster in
// which Kueue is at work. Pure: the objects as the API server lists them, to findings.
//
// Source of the findings: docs/reference/compatibility.md, docs/reference/limits/kinds.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/doctor.h"
#include "view/screens/text.h"

namespace berth::view {

enum class AdoptionGrade {
  kFirst,    // something to do before Berth starts
  kMissing,  // waits for something that Berth does not have
  kDiffers,  // works, with another result than under Kueue
  kStays,    // is left alone; its quota counts
};

struct AdoptionFinding {
  AdoptionGrade grade = AdoptionGrade::kStays;
  std::string object;  // "pod default/web-0", "configmap kueue-system/kueue-manager-config"
  std::string text;
};

struct AdoptionReport {
  std::string cluster_name;
  std::set<std::string> queued_kinds;             // beside batch/v1 Job: "jobset.x-k8s.io/JobSet"
  std::map<std::string, std::size_t> taken_over;  // "Workloads of Jobs" → count
  std::vector<AdoptionFinding> findings;
  // What `berth doctor` finds in the cluster before the change-over.
  std::vector<DoctorFinding> installation;
};

// Whether a container of the Deployment is `berth controller`.
bool RunsBerth(const nlohmann::json& deployment);

// Adds the findings about `items`, objects of the kind `plural` ("workloads", "jobs", …). Objects
// that this function does not understand are findings, never errors.
void CheckAdoptionOf(const std::string& plural, const nlohmann::json& items,
                     AdoptionReport& report);

// Whether some object would wait for something that Berth does not have.
bool HasMissing(const AdoptionReport& report);

// Findings are in the order of their grades, and of the objects.
std::string RenderAdoption(const AdoptionReport& report, const TextStyle& style);
nlohmann::json AdoptionJson(const AdoptionReport& report);

}  // namespace berth::view
