#include "kube/client/informer.h"

namespace berth::kube {

template class Informer<api::AdmissionCheck>;
template class Informer<api::ClusterQueue>;
template class Informer<api::Cohort>;
template class Informer<api::Job>;
template class Informer<api::LocalQueue>;
template class Informer<api::Namespace>;
template class Informer<api::Node>;
template class Informer<api::Pod>;
template class Informer<api::PodTemplateObject>;
template class Informer<api::PriorityClass>;
template class Informer<api::ProvisioningRequest>;
template class Informer<api::ProvisioningRequestConfig>;
template class Informer<api::ResourceFlavor>;
template class Informer<api::Topology>;
template class Informer<api::Workload>;
template class Informer<api::WorkloadPriorityClass>;

}  // namespace berth::kube
