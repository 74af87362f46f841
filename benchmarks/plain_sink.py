"""`python -m benchmarks.plain_sink PORT`: takes every message and forgets it, where Postfix's smtp-sink is missing."""

import asyncio
import sys
from typing import cast

_REPLIES = {
    b"EHLO": b"250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n",
    b"DATA": b"354 go on\r\n",
    b"QUIT": b"221 bye\r\n",
}
_OK = b"250 ok\r\n"


class Taker(asyncio.Protocol):
    def __init__(self) -> None:
        self._rest = b""
        self._in_content = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(b"220 sink\r\n")

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        replies: list[bytes] = []
        leaving = False
        while True:
            if self._in_content:
                end = data.find(b"\r\n.\r\n")
                if end < 0:
                    break
                data, self._in_content = data[end + 5 :], False
                replies.append(_OK)
                continue
            line, ended, after = data.partition(b"\r\n")
            if not ended:
                break
            data, command = after, line[:4].upper()
            replies.append(_REPLIES.get(command, _OK))
            self._in_content = command == b"DATA"
            leaving = leaving or command == b"QUIT"
        self._rest = data[-4:] if self._in_content and len(data) > 4 else data
        if replies:
            self._transport.write(b"".join(replies))
        if leaving:
            self._transport.close()


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Taker, "127.0.0.1", port, backlog=256)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(int(sys.argv[1])))
