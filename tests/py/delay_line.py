"""A TCP proxy on loopback that delivers each byte a fixed time after it came, in both directions: a server far away.

    line = DelayLine(port, seconds)   # port of the server
    line.port                         # port for the client
    line.close()

Unlike the latency of toxic_proxy.py, bytes that come meanwhile do not wait for one another."""

import asyncio
import threading

PIECE = 65536
MOST_PIECES = 1024  # on their way in one direction of a connection; then the sender waits


class DelayLine:
    def __init__(self, port, seconds):
        self.upstream, self.seconds = port, seconds
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()

    async def serve(self, from_client, to_client):
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            to_client.close()
            return
        await asyncio.gather(self.delay(from_client, to_server), self.delay(from_server, to_client))

    async def delay(self, reader, writer):
        """Forwards bytes until the reader's end, which comes as late as a byte."""
        pieces = asyncio.Queue(MOST_PIECES)
        read = asyncio.ensure_future(self.read(reader, pieces))
        try:
            while True:
                due, data = await pieces.get()
                await asyncio.sleep(due - self.loop.time())
                if not data:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            read.cancel()
        writer.close()

    async def read(self, reader, pieces):
        data = b"x"
        while data:
            try:
                data = await reader.read(PIECE)
            except OSError:
                data = b""
            await pieces.put((self.loop.time() + self.seconds, data))
