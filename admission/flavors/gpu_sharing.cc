#include "admission/flavors/gpu_sharing.h"

#include <algorithm>
#include <string>

#include "api/gpu_shares.h"

namespace berth::admission {
namespace {

std::vector<queue::ResourceRequest> Compiled(const api::ResourceFlavor& flavor,
                                             const char* annotation, queue::Names& resources) {
  std::vector<queue::ResourceRequest> compiled;
  const std::string* text = api::FindValue(flavor.meta.annotations, annotation);
  if (text == nullptr) return compiled;
  const auto numbers = api::ParseShareNumbers(*text);
  if (!numbers) return compiled;
  for (const auto& [resource, number] : *numbers) {
    compiled.push_back({resources.Intern(resource), number});
  }
  return compiled;
}

const queue::ResourceRequest* Find(const std::vector<queue::ResourceRequest>& list,
                                   ResourceId resource) {
  const auto found = std::find_if(list.begin(), list.end(), [resource](const auto& entry) {
    return entry.resource == resource;
  });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

GpuSharing::GpuSharing(const api::ResourceFlavor& flavor, queue::Names& resources)
    : shares_per_gpu_(Compiled(flavor, api::kSharesPerGpuAnnotation, resources)),
      most_per_pod_(Compiled(flavor, api::kMostPerPodAnnotation, resources)) {}

Amount GpuSharing::GpusOf(const queue::Requests& requests, const queue::Names& resources) const {
  Amount gpus = 0;
  for (const queue::ResourceRequest& request : requests) {
    const queue::ResourceRequest* shares = Find(shares_per_gpu_, request.resource);
    if (shares == nullptr && !api::IsGpuResource(resources[request.resource])) continue;
    gpus =
        api::AddAmounts(gpus, api::GpusOf(request.amount, shares == nullptr ? 1 : shares->amount));
  }
  return gpus;
}

std::optional<GpuSharing::Excess> GpuSharing::FindExcess(const queue::Requests& per_pod) const {
  for (const queue::ResourceRequest& request : per_pod) {
    const queue::ResourceRequest* most = Find(most_per_pod_, request.resource);
    if (most != nullptr && request.amount > most->amount) return Excess{request, most->amount};
  }
  return std::nullopt;
}

bool AsksForGpus(const queue::Requests& requests, const queue::Names& resources) {
  return std::any_of(requests.begin(), requests.end(), [&resources](const auto& request) {
    return request.amount > 0 && api::IsGpuResource(resources[request.resource]);
  });
}

}  // namespace berth::admission
