"""Runs a program in a network of its own, from which it reaches one server of this machine's loopback.

    unshare --user --map-root-user --net python3 own_network.py PORT PROGRAM ARGUMENT…

Standard input is a Unix socket. The socket that listens on PORT of the new network's loopback goes through
it to the other end, which accepts the program's connections: a socket stays in the network that it was
made in."""

import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def main():
    port, words = int(sys.argv[1]), sys.argv[2:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
    with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
        with socket.socket(fileno=os.dup(0)) as parent:
            socket.send_fds(parent, [b"."], [listener.fileno()])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
