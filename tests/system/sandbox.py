"""The unit's sandbox in tables: the work that must go on in it, and what it forbids.

Steps of the work are those of standin.py, acts those of trespass.py. What failed is told by a part
of the outcome.
"""

from collections.abc import Mapping

from tests.system import standin

# linux/capability.h
CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_FSETID": 4,
    "CAP_LINUX_IMMUTABLE": 9,
    "CAP_SYS_PTRACE": 19,
}
WORK: Mapping[str, object] = {
    "write on a mount from before": "text",
    "write on others from before": ["text"] * len(standin.ELSEWHERE),
    "mount": None,
    "write on a mount from after": "text",
    "unmount": True,
    "guard": ["set", "Operation not permitted"],
    "guard elsewhere": [["set", "Operation not permitted"]] * len(standin.UNCOVERED),
    "mount again": None,
    "abort and detach": True,
    "give a directory away": [1234, 1234],
    "setgid": "2775",
    "mode of a user's directory": "700",
    "ACL of a user's directory": True,
    "write in a user's directory": "text",
    "what strangers hold": {
        "seen": True,
        "cwd": "/mnt/old",
        "files": ["/dev/null"],
        "maps": True,
        "namespace": True,
    },
    "names": ["AF_INET", "AF_INET6"],
    "servers": "answered",
    "listen": True,
    "textfile": "644",
    "idle child": ["19", "SCHED_IDLE", "idle"],
    "which boot": 37,
    "log of a client": "text",
    "runtime directory": "text",
    "state directory": "text",
}
FORBIDDEN: Mapping[str, tuple[str, ...]] = {
    "write in /etc": ("EROFS", "ProtectSystem=full"),
    "write in /usr": ("EROFS", "ProtectSystem=full"),
    "see the host's /tmp": ("ENOENT", "PrivateTmp=yes"),
    "see the host's /dev": ("ENOENT", "PrivateDevices=yes"),
    "make a control group": ("EROFS", "ProtectControlGroups=yes"),
    "see kernel modules": ("ENOENT", "ProtectKernelModules=yes"),
    "ask the kernel's log": ("EPERM", "ProtectKernelLogs=yes"),
    "ask to adjust the clock": ("EPERM", "ProtectClock=yes"),
    "tune the kernel": ("EROFS", "ProtectKernelTunables=yes"),
    "see ssh's keys": ("ENOENT", "InaccessiblePaths=-/etc/ssh"),
    "see TLS keys": ("ENOENT", "InaccessiblePaths=-/etc/ssl/private"),
    "see root's keys": ("ENOENT", "InaccessiblePaths=-/root/.ssh"),
    "talk netlink": ("EAFNOSUPPORT",),
    "sniff packets": ("EAFNOSUPPORT",),
    "talk to the hypervisor": ("EAFNOSUPPORT",),
    "make a user namespace": ("EPERM", "RestrictNamespaces=yes"),
    "make a mount namespace": ("EPERM", "RestrictNamespaces=yes"),
    "run in real time": ("EPERM", "RestrictRealtime=yes"),
    "change personality": ("EPERM", "LockPersonality=yes"),
    "map writable code": ("EPERM or EACCES", "MemoryDenyWriteExecute=yes"),
    "run foreign code": ("SIGSYS", "SystemCallArchitectures=native"),
    "mount": ("EPERM", "SystemCallFilter=@system-service", "SystemCallErrorNumber=EPERM"),
    "kill a stranger": ("EPERM",),
    "listen below 1024": ("EACCES",),
    "send raw packets": ("EPERM",),
    "make a device": ("EPERM",),
    "change root": ("EPERM", "SystemCallFilter=~@privileged"),
    "become another group": ("EPERM", "SystemCallFilter=~@setuid"),
    "pin to a processor": ("EPERM", "SystemCallFilter=~@resources"),
    "share memory": ("EPERM", "SystemCallFilter=~@ipc"),
    "read another's memory": ("EPERM", "SystemCallFilter=~@ipc"),
    "ask for a keyring": ("EPERM", "SystemCallFilter=~@keyring"),
    "lock memory": ("EPERM", "SystemCallFilter=~@memlock"),
    "submit asynchronous reads": ("EPERM", "SystemCallFilter=~@aio"),
    "handle page faults": ("EPERM", "SystemCallFilter=~userfaultfd"),
}
SETTINGS = {setting for _, *settings in FORBIDDEN.values() for setting in settings}
FORBIDDEN_TWICE = {
    "ProtectClock=yes",
    "ProtectKernelLogs=yes",
    "RestrictRealtime=yes",
    "SystemCallErrorNumber=EPERM",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@keyring",
    "SystemCallFilter=~@privileged",
    "SystemCallFilter=~@setuid",
}
"""By the lack of a capability, too, or of keyrings by the lab's container; an error by any name."""
NEEDED: Mapping[str, tuple[str, str]] = {
    "CapabilityBoundingSet=CAP_CHOWN": ("give a directory away", "PermissionError"),
    "CapabilityBoundingSet=CAP_FOWNER": ("ACL of a user's directory", "PermissionError"),
    "CapabilityBoundingSet=CAP_FSETID": ("setgid", "775"),
    "CapabilityBoundingSet=CAP_DAC_OVERRIDE": ("write in a user's directory", "PermissionError"),
    "CapabilityBoundingSet=CAP_LINUX_IMMUTABLE": ("guard", "refused"),
    "CapabilityBoundingSet=CAP_SYS_PTRACE": ("what strangers hold", "'cwd': ''"),
    "ReadWritePaths=-/usr/local": ("write on others from before", "Read-only file system"),
    "RestrictAddressFamilies=AF_UNIX": ("mount", "bus can't be reached"),
    "RestrictAddressFamilies=AF_INET": ("servers", "unreachable"),
    "RestrictAddressFamilies=AF_INET6": ("listen", "not supported"),
    "SystemCallFilter=@chown": ("give a directory away", "PermissionError"),
    "SystemCallFilter=pipe2": ("idle child", "PermissionError"),
    "SystemCallFilter=ioprio_set": ("idle child", "CalledProcessError"),
    "SystemCallFilter=sched_setscheduler": ("idle child", "CalledProcessError"),
    "SystemCallFilter=setpriority": ("idle child", "['SCHED_IDLE', 'idle']"),
}
"""Of each permission, the step of the work that fails without it, and how."""
LEFT_OUT: Mapping[str, tuple[str, str]] = {
    "ProtectSystem=strict": ("write on a mount from before", "Read-only file system"),
    "ProtectHome=read-only": ("write on others from before", "Read-only file system"),
    "ProtectHome=tmpfs": ("write on others from before", "No such file"),
    "PrivateUsers=yes": ("give a directory away", "Error"),
    "PrivateNetwork=yes": ("servers", "unreachable"),
    "RestrictSUIDSGID=yes": ("setgid", "PermissionError"),
    "ProcSubset=pid": ("which boot", "FileNotFoundError"),
    "SystemCallFilter=~@resources": ("idle child", "CalledProcessError"),
}
"""Settings that would lower the exposure, and the step of the work that they would end."""
