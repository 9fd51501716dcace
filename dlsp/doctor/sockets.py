"""The network sockets of a process that reach beyond this machine."""

from ipaddress import IPv6Address, ip_address


def sockets_beyond(pid: int) -> list[str] | None:
    """The process's network sockets that others than this machine can reach or that are connected to others, each as
    `ADDRESS:PORT` of the far end, or of the near end where it listens. None if the system does not say.
    """
    import psutil

    try:
        sockets = psutil.Process(pid).net_connections(kind="inet")
    except psutil.Error:
        return None
    ends = (each.raddr or each.laddr for each in sockets)
    return sorted({f"{end.ip}:{end.port}" for end in ends if end and not _is_here(end.ip)})


def _is_here(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback
