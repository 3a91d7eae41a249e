#include "cli/manifest_queues.h"

#include <utility>

#include "forecast/simulated_cluster.h"
#include "view/manifest_files.h"
#include "view/manifest_places.h"

namespace berth::cli {
namespace {

// Names every object that cannot be read, a line each. `first`: the error of all documents.
Error AllUnreadable(const std::vector<nlohmann::json>& documents, const Error& first,
                    const std::vector<std::string>& files) {
  const view::ManifestPlaces places = view::PlacesIn(files);
  std::string lines;
  for (const nlohmann::json& object : view::FlatObjectsOf(documents)) {
    const auto cluster = forecast::ReadSimulatedCluster({object});
    if (cluster) continue;
    lines += (lines.empty() ? "" : "\n") + view::AtPlace(cluster.error(), places).message;
  }
  return lines.empty() ? view::AtPlace(first, places) : Error{first.code, std::move(lines)};
}

}  // namespace

Result<simulation::Cluster> ReadManifestQueues(const std::vector<nlohmann::json>& documents,
                                               const std::vector<std::string>& files) {
  auto cluster = forecast::ReadSimulatedCluster(documents);
  if (!cluster) return AllUnreadable(documents, cluster.error(), files);
  return cluster;
}

}  // namespace berth::cli
