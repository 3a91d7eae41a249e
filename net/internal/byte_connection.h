// net/internal/byte_connection.h — a Duplex of the bytes of any protocol but WebSocket.
//
// Clients of SPDY lose frames that they have received and not handled when the connection ends:
// Close leaves the end to the peer, for two seconds at most.
#pragma once

#include <memory>

#include "net/internal/duplex_connection.h"

namespace berth::net {

std::shared_ptr<DuplexConnection> MakeByteConnection(DuplexConnection::Context context);

}  // namespace berth::net
