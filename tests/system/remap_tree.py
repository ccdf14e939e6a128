"""Makes a tree of files with owners of all kinds, or compares it with what it must become.

Runs inside a machine of the lab: `make DIRECTORY FILES` or `check DIRECTORY FILES`. Which file is
whose follows from its number, so that the check needs no memory of what was made.
"""

import json
import os
import stat
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

FOLDERS = 100
THREADS = 8
OLD, OLD_GROUP, NEW, NEW_GROUP = 51001, 51002, 52001, 52002
ACL = "system.posix_acl_access"


def owner(number: int) -> tuple[int, int]:
    """Half of them have something of the old ids."""
    kinds = [
        (OLD, OLD_GROUP),
        (OLD, 0),
        (53000, OLD_GROUP),
        (0, 0),
        (53000, 53000),
        (OLD_GROUP, OLD),
    ]
    return kinds[number % 6]


def listed(number: int) -> bool:
    """Whether a file of another's has an ACL that names the old user."""
    return number % 60 == 4


def mode(number: int) -> int:
    return 0o6755 if number % 50 == 0 else 0o644


def acl(uid: int) -> bytes:
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), (2, 6, uid), (4, 4, nobody), (16, 6, nobody), (32, 4, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def concerned(number: int) -> bool:
    uid, gid = owner(number)
    return uid == OLD or gid == OLD_GROUP or listed(number)


def path(top: str, number: int) -> str:
    return f"{top}/d{number % FOLDERS}/f{number}"


def make(top: str, files: int) -> dict[str, int]:
    os.mkdir(top)
    for folder in range(FOLDERS):
        os.mkdir(f"{top}/d{folder}")
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda number: make_one(path(top, number), number), range(files)))
    return {"files": files, "old": sum(map(concerned, range(files)))}


def make_one(name: str, number: int) -> None:
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    if owner(number) != (0, 0):
        os.chown(name, *owner(number))
    if mode(number) != 0o644:
        os.chmod(name, mode(number))
    if listed(number):
        os.setxattr(name, ACL, acl(OLD))


def check(top: str, files: int) -> dict[str, int]:
    """old, new: files that are wholly so; wrong: any other way, mode and ACL included."""
    counts = {"old": 0, "new": 0, "wrong": 0}
    with ThreadPoolExecutor(THREADS) as threads:
        for said in threads.map(lambda number: check_one(path(top, number), number), range(files)):
            if said:
                counts[said] += 1
    return counts


def check_one(name: str, number: int) -> str:
    """ "" for a file that is to stay as it is, and has."""
    found = os.lstat(name)
    ids = (found.st_uid, found.st_gid)
    uid, gid = owner(number)
    after = (NEW if uid == OLD else uid, NEW_GROUP if gid == OLD_GROUP else gid)
    given = os.getxattr(name, ACL) if listed(number) else b""
    right_mode = listed(number) or stat.S_IMODE(found.st_mode) == mode(number)
    if not concerned(number):
        return "" if ids == (uid, gid) and right_mode else "wrong"
    if ids == (uid, gid) and given in (b"", acl(OLD)) and right_mode:
        return "old"
    return "new" if ids == after and given in (b"", acl(NEW)) and right_mode else "wrong"


if __name__ == "__main__":
    print(json.dumps({"make": make, "check": check}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
