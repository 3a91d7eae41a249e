// view/screens/doctor.h — `berth doctor`: what is wrong with an installation of Berth, and what to
// do about each finding. Pure: the objects as the API server lists them, to findings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "view/screens/text.h"

namespace berth::view {

enum class DoctorGrade : std::uint8_t {
  kProblem,  // something does not work
  kWarning,  // something may not work as intended
  kUnread,   // the caller may not read an object: the check was left out
};

struct DoctorFinding {
  DoctorGrade grade = DoctorGrade::kWarning;
  std::string object;  // "clusterqueue team-a"
  std::string wrong;
  std::string remedy;
};

// A right of the controller's ServiceAccount.
struct ControllerRight {
  std::string verb;
  std::string group;
  std::string resource;      // "workloads/status"
  bool in_namespace = true;  // false: needed in all namespaces
};

// The rights without which nothing is queued or started.
const std::vector<ControllerRight>& NeededRights();

// Which program is meant to be the controller of the queues.
enum class InstalledManager : std::uint8_t { kBerth, kKueue };

struct Installation {
  std::string cluster_name;
  std::string namespace_name;  // the namespace of the controller
  InstalledManager manager = InstalledManager::kBerth;
  WallTime now{};
  bool is_berth_up = false;  // the API server runs the controller itself, without Deployment
  // The items of each list by its plural. A list that the cluster lacks, or that the caller may not
  // read, is absent.
  std::map<std::string, nlohmann::json> lists;
  std::optional<nlohmann::json> lease;      // the lease of the leader; nullopt: none
  std::optional<nlohmann::json> secret;     // the certificate of the webhooks; nullopt: none
  std::optional<WallTime> certificate_end;  // the certificate's notAfter
  std::optional<WallTime> authority_end;    // the notAfter of the CA, the first of ca.crt
  std::vector<ControllerRight> refused;     // rights that the controller lacks
  std::vector<DoctorFinding> unread;
};

// The lists that Examine knows, by plural, with the paths of the API.
std::vector<std::pair<std::string, std::string>> ListsToExamine(const std::string& namespace_name);
std::string LeasePath(const std::string& namespace_name);
std::string SecretPath(const std::string& namespace_name);

// Returns the findings: problems first, then warnings, then objects that were not read.
std::vector<DoctorFinding> Examine(const Installation& installation);

bool HasProblem(const std::vector<DoctorFinding>& findings);
// The findings alone, each behind an empty line.
std::string RenderFindings(const std::vector<DoctorFinding>& findings, const TextStyle& style);
nlohmann::json FindingsJson(const std::vector<DoctorFinding>& findings);
std::string RenderDoctor(const Installation& installation,
                         const std::vector<DoctorFinding>& findings, const TextStyle& style);
nlohmann::json DoctorJson(const Installation& installation,
                          const std::vector<DoctorFinding>& findings);

}  // namespace berth::view
