"""Runs inside a host of the lab: a directory service, as glibc's Hesiod asks for one by DNS.

Called with records as JSON, `{"alice.passwd": "alice:*:20001:...", "20000.gid": ...}`, it answers
on 127.0.0.1 for names that end in .ns.example; others are not there.
"""

import json
import socket
import struct
import sys

HEADER = struct.Struct("!HHHHHH")
KIND = struct.Struct("!HH")
ANSWER = struct.Struct("!HHHIH")
OK, NO_SUCH_NAME = 0x8580, 0x8583
TXT, SAME_NAME = 16, 0xC00C


def answer(query: bytes, records: dict[str, str]) -> bytes:
    labels, at = [], HEADER.size
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode())
        at += 1 + length
    question = query[HEADER.size : at + 1 + KIND.size]
    kind, family = KIND.unpack_from(query, at + 1)
    number = HEADER.unpack_from(query)[0]
    text = records.get(".".join(labels).removesuffix(".ns.example"))
    if text is None or kind != TXT:
        return HEADER.pack(number, NO_SUCH_NAME, 1, 0, 0, 0) + question
    data = bytes([len(text)]) + text.encode()
    row = ANSWER.pack(SAME_NAME, TXT, family, 0, len(data)) + data
    return HEADER.pack(number, OK, 1, 1, 0, 0) + question + row


def main() -> None:
    records = json.loads(sys.argv[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 53))
        while True:
            query, sender = listener.recvfrom(512)
            listener.sendto(answer(query, records), sender)


if __name__ == "__main__":
    main()
