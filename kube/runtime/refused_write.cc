#include "kube/runtime/refused_write.h"

namespace berth::kube {

bool IsRefusal(const Error& error) {
  return error.code == ErrorCode::kInvalid || error.code == ErrorCode::kForbidden;
}

void RecordRefusedWrite(EventRecorder& events, const ObjectReference& object, const Error& error) {
  events.Record(object, EventType::kWarning, "WriteRefused", "WriteRefused",
                "The API server refused a write to the " + object.kind + ": " + error.message);
}

}  // namespace berth::kube
