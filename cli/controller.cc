#include "cli/commands.h"
#include "cli/output.h"

namespace berth::cli {

int RunController(const ControllerFlags&) {
  return Complain({ErrorCode::kInvalid, "the controllers are not part of this program yet"});
}

}  // namespace berth::cli
