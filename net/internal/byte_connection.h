// net/internal/byte_connection.h — a Duplex of the bytes of any protocol but WebSocket.
//
// When the connection ends, SPDY clients lose the frames that they have received but not yet
// handled. So Close waits for the peer to end the connection, for two seconds at most.
#pragma once

#include <memory>

#include "net/internal/duplex_connection.h"

namespace berth::net {

std::shared_ptr<DuplexConnection> MakeByteConnection(DuplexConnection::Context context);

}  // namespace berth::net
