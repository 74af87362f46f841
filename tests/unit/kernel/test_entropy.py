import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from waypost.kernel.entropy import Pieces

_PARENT_AND_CHILD = """
import os
from waypost.kernel.entropy import Pieces
pieces = Pieces(12)
pieces.take()
child = os.fork()
if child:
    os.waitpid(child, 0)
print(pieces.take().hex(), flush=True)
"""


def test_pieces_have_the_size_and_none_comes_twice():
    pieces = Pieces(12)
    taken = [pieces.take() for _ in range(2_000)]
    assert {len(piece) for piece in taken} == {12}
    assert len(set(taken)) == 2_000


def test_threads_never_share_a_piece():
    pieces = Pieces(16)
    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(lambda _: pieces.take(), range(4_000)))
    assert len(set(taken)) == 4_000


def test_a_child_does_not_go_on_with_what_its_parent_had_in_store():
    said = subprocess.run([sys.executable, "-c", _PARENT_AND_CHILD], capture_output=True, text=True, check=True)
    parent, child = said.stdout.split()
    assert parent != child
