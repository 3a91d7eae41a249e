// checks/check_kinds.h — the facts of each kind of admission check, as one row of a table.
//
//     spec.controllerName ──FindCheckKind──▶ CheckKind
//         ──▶ lint, adopt, plan, capacity, --controllers
//
// A row is data. The code of a check is in the row's folder. A folder that needs to know what an
// AdmissionCheck means asks the row, and names no controller.
//
// Threads: pure functions on constants. Errors: none; a name that no row has gives null.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::checks {

// A kind of objects that spec.parameters of an AdmissionCheck may name. The kind is cluster-scoped.
struct ParametersKind {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
};

// How a check of the controller brings nodes.
enum class Capacity : std::uint8_t {
  kNone,         // the check brings no nodes
  kRequested,    // a request brings the nodes, and the job starts after them
  kPendingPods,  // the job starts, and its pending pods bring the nodes
};

// The verdict of `berth adopt` on an AdmissionCheck in a cluster of Kueue.
enum class Adoption : std::uint8_t {
  kTakenOver,  // Kueue answers the check until Berth does
  kStays,      // the check has another controller than Kueue
};

// Verbs on one resource of the API, as a rule of a ClusterRole gives them.
struct Right {
  const char* group;  // empty: the core group
  const char* resource;
  std::span<const char* const> verbs;
};

struct CheckKind {
  const char* controller_name;  // spec.controllerName
  // The top folder with the code of the check. The same word in --controllers starts its
  // controllers.
  const char* folder;
  // The kinds that spec.parameters may name; empty: the check needs no parameters.
  std::span<const ParametersKind> parameters_kinds;
  Capacity capacity;
  Adoption adoption;
  // The reasons of the check's conditions and events, without those that checks/ writes for every
  // check. tools/reasons.txt has the remedy of each.
  std::span<const char* const> reasons;
  // The rights that the check's controllers need beside those of checks/controller and of options
  // (leases of nodes, placeholders, memories). manifests/rbac/manager_role.yaml gives them;
  // tests/checks compares.
  std::span<const Right> rights;
};

// A check of Kueue that Berth has no controller for.
struct MissingCheck {
  const char* controller_name;
  const char* feature;              // Kueue's name of the feature: "MultiKueue"
  const char* configuration_field;  // the field of the Configuration that has no effect
  std::span<const ParametersKind> kinds;
};

// The rows, one for each controller.
std::span<const CheckKind> CheckKinds();
// Null: Berth has no such controller.
const CheckKind* FindCheckKind(std::string_view controller_name);
// The first row whose checks bring nodes in that way. A row must exist.
const CheckKind& CheckKindWith(Capacity capacity);
// How the checks of the controller bring nodes; kNone for a controller that Berth does not have.
Capacity CapacityOf(std::string_view controller_name);
// Whether spec.parameters of some row's check may name objects of the kind.
bool IsParametersKind(std::string_view kind);
// "ProvisioningRequestConfig"; for several kinds "A or B"; empty: the check needs no parameters.
std::string ParametersText(const CheckKind& kind);

std::span<const MissingCheck> MissingChecks();
// Null: the controller is no check of Kueue that Berth lacks.
const MissingCheck* FindMissingCheck(std::string_view controller_name);

}  // namespace berth::checks
