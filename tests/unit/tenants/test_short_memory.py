from waypost.kernel.clock import VirtualClock
from waypost.tenants.short_memory import ShortMemory


async def test_it_forgets_in_time() -> None:
    clock = VirtualClock()
    memory = ShortMemory[str, int](clock, seconds=5, most=10)
    memory.keep("a", 1)
    await clock.advance(4.9)
    assert memory.recall("a") == 1
    await clock.advance(0.1)
    assert memory.recall("a") is None


def test_it_holds_only_so_much_and_lets_the_oldest_go() -> None:
    memory = ShortMemory[str, int](VirtualClock(), seconds=5, most=2)
    memory.keep("a", 1)
    memory.keep("b", 2)
    memory.keep("a", 3)
    memory.keep("c", 4)
    assert [memory.recall(key) for key in "abc"] == [3, None, 4]


def test_it_forgets_what_it_is_told_to() -> None:
    memory = ShortMemory[str, int](VirtualClock(), seconds=5, most=9)
    memory.keep("a", 1)
    memory.keep("b", 2)
    memory.forget(lambda number: number == 1)
    assert [memory.recall(key) for key in "ab"] == [None, 2]
