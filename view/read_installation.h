// view/read_installation.h — reads what `berth doctor` and `berth adopt --check` examine of an
// installation (view/screens/doctor.h). Writes nothing but questions about rights.
//
// Threads, errors: as Session. A list that the cluster lacks, or that the caller may not read, is
// no error.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "view/screens/doctor.h"
#include "view/session.h"

namespace berth::view {

// kKueue: the installation is one of Kueue, which a change-over replaces: its rights are not asked
// for, and Kueue's Deployment is no problem.
Result<Installation> ReadInstallation(Session& session, const std::string& namespace_name,
                                      InstalledManager manager, WallTime now);

}  // namespace berth::view
