// net/internal/web_socket_connection.h — a Duplex of the messages of a WebSocket; hides Beast.
#pragma once

#include <memory>

#include "net/internal/duplex_connection.h"

namespace berth::net {

std::shared_ptr<DuplexConnection> MakeWebSocketConnection(DuplexConnection::Context context);

}  // namespace berth::net
