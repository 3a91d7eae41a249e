#include "admission/controller/refusal_event.h"

namespace berth::admission {

void RecordRefusal(kube::EventRecorder& events, const api::Workload& workload, const Error& error) {
  events.Record(kube::ReferenceTo(workload), kube::EventType::kWarning, "WriteRefused",
                "WriteRefused", "The API server refused a write to the Workload: " + error.message);
}

}  // namespace berth::admission
