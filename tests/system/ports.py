"""Ports of this machine's loopback."""

import socket

from moments import until


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until_listened(port):
    """Until somebody takes connections there."""
    def listened():
        with socket.socket() as probe:
            probe.settimeout(5)
            return probe.connect_ex(("127.0.0.1", port)) == 0
    until(listened)
