import os
import select
import signal

import pytest

from turnscope import sandbox
from turnscope.sandbox import Limits, Program, Result, Settings, Status, rungs, runs

RUNGS = ("bubblewrap", "landlock", "rlimits")
LIMITS = Limits(cpu=0.3, wall=60.0, output=1000)
COUNT = """
import os, signal, time
calls = 0
def f(what, value):
    global calls
    calls += 1
    if what == "spin":
        while True:
            pass
    if what == "power":
        return value ** 10**9 % 7
    if what == "sleep":
        time.sleep(60)
    if what == "leave":
        os._exit(value)
    if what == "fail":
        raise ValueError(value)
    if what == "long":
        return "x" * value
    if what == "work":
        end = time.process_time() + value
        while time.process_time() < end:
            pass
    if what == "read":
        return [open(os.path.join(value, name)).read() for name in sorted(os.listdir(value))]
    if what == "write":
        with open(os.path.join(value, "new"), "w"):
            pass
    return calls
"""
PROGRAM = Program(COUNT, "f")


def open_pool(rung: str, limits: Limits = LIMITS, **more) -> sandbox.Pool:
    settings = Settings(limits, allow_unsandboxed=True, rung=rung, **more)
    try:
        sandbox.rung(settings)
    except ValueError as error:
        pytest.skip(str(error))
    return sandbox.Pool(settings)


@pytest.fixture(scope="module", params=RUNGS[:2])
def pool(request):
    one = open_pool(request.param)
    yield one
    one.close()


def test_a_program_keeps_what_it_has_from_call_to_call(pool):
    with pool.session(PROGRAM) as session:
        assert not session.alive
        assert [session.call(["count", None]).value for _ in range(3)] == [1, 2, 3]
        assert session.alive
    assert not session.alive


def test_an_exception_ends_nothing(pool):
    with pool.session(PROGRAM) as session:
        assert session.call(["fail", "no"]) == Result(Status.ERROR, error="ValueError: no")
        assert session.call(["long", 1001]).status == Status.OUTPUT
        assert session.call(["count", None]).value == 3


ENDS = [
    ("spin", 0, Result(Status.TIMEOUT, error="took more than 0.3 s of processor time")),
    ("power", 7, Result(Status.TIMEOUT, error="took more than 0.3 s of processor time")),
    ("leave", 3, Result(Status.KILLED, error="left with exit code 3")),
]


@pytest.mark.parametrize(("what", "value", "result"), ENDS)
def test_a_call_beyond_its_limits_ends_the_program_and_the_next_starts_it_anew(
    pool, what, value, result
):
    with pool.session(PROGRAM) as session:
        assert session.call(["count", None]).value == 1
        assert session.call([what, value]) == result
        assert not session.alive
        assert [session.call(["count", None]).value for _ in range(2)] == [1, 2]


def test_a_call_that_sleeps_ends_by_the_clock():
    pool = open_pool("bubblewrap", LIMITS._replace(wall=0.5))
    with pool.session(PROGRAM) as session:
        asleep = Result(Status.TIMEOUT, error="took more than 0.5 s")
        assert session.call(["sleep", 0]) == asleep
        assert not session.alive
    pool.close()


def test_processor_time_is_of_each_call_and_not_of_all():
    pool = open_pool("bubblewrap")
    with pool.session(PROGRAM) as session:
        found = [session.call(["work", 0.24]).value for _ in range(10)]
    pool.close()
    assert found == [*range(1, 11)]  # more than a run has, and than the kernel would give one


def test_sessions_and_runs_go_on_side_by_side(pool):
    with pool.session(PROGRAM) as one, pool.session(PROGRAM) as other:
        assert one.call(["count", None]).value == 1
        assert other.call(["count", None]).value == 1
        assert pool.run(PROGRAM, [[["count", None]]])[0][0].value == 1
        assert one.call(["count", None]).value == 2


def test_a_program_that_is_none_says_so_at_each_call():
    with open_pool("bubblewrap").session(Program("def g(:", "f")) as session:
        for _ in range(2):
            assert session.call([]).status == Status.SYNTAX
    with open_pool("bubblewrap").session(Program("g = 1", "f")) as session:
        assert session.call([]) == Result(Status.MISSING, error="f is not defined")


def test_a_zygote_that_died_is_replaced():
    pool = open_pool("bubblewrap")
    with pool.session(PROGRAM) as session:
        assert session.call(["count", None]).value == 1
        assert session._worker is not None
        session._worker.process.send_signal(signal.SIGKILL)
        session._worker.process.wait()
        # What is killed is bubblewrap; the program inside goes a little later.
        assert session._channel is not None
        assert select.select([session._channel], [], [], 10)[0]
        assert session.call(["count", None]).value == 1
    pool.close()


def test_an_answer_that_nobody_waited_for_is_not_that_of_the_next_call(pool, monkeypatch):
    def interrupt(channel, message, *_):
        channel.sendall(message)
        raise KeyboardInterrupt

    with pool.session(PROGRAM) as session:
        assert session.call(["count", None]).value == 1
        with monkeypatch.context() as patch:
            patch.setattr(runs, "exchange", interrupt)
            with pytest.raises(KeyboardInterrupt):
                session.call(["work", 0.1])
        assert session.call(["count", None]).value == 1


def test_what_cannot_be_sent_leaves_a_session_that_works(pool):
    with pool.session(PROGRAM) as session:
        with pytest.raises(ValueError, match="unmarshallable"):
            session.call(["count", object()])
        assert session.call(["count", None]).value == 1


def test_a_closed_pool_ends_its_sessions():
    pool = open_pool("bubblewrap")
    session = pool.session(PROGRAM)
    session.call(["count", None])
    process = session._worker and session._worker.process
    pool.close()
    assert not session.alive
    assert process is not None
    assert process.poll() is not None


def test_a_session_does_not_work_in_a_fork():
    session = open_pool("bubblewrap").session(PROGRAM)
    child = os.fork()
    if not child:
        try:
            session.call(["count", None])
        except RuntimeError:
            os._exit(5)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


@pytest.mark.parametrize("rung", RUNGS)
def test_a_folder_can_be_made_readable_and_nothing_beside_it(rung, tmp_path):
    for name in ("shown", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(f"is {name}")
    for place in [tmp_path, *tmp_path.parents[:-2], tmp_path / "shown"]:
        place.chmod(0o755)
    pool = open_pool(rung, readable=(str(tmp_path / "shown"),))
    with pool.session(PROGRAM) as session:
        assert session.call(["read", str(tmp_path / "shown")]).value == ["is shown"]
        assert session.call(["write", str(tmp_path / "shown")]).status == Status.ERROR
        if rung != "rlimits":  # which hides nothing
            assert session.call(["read", str(tmp_path / "hidden")]).status == Status.ERROR
    pool.close()
    assert not (tmp_path / "shown" / "new").exists()


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_readable_folder_may_lie_in_one_that_is_closed(rung, tmp_path):
    shown = tmp_path / "closed" / "shown"
    shown.mkdir(parents=True)
    (shown / "a").write_text("is shown")
    shown.parent.chmod(0o700)
    pool = open_pool(rung, readable=(str(shown),))
    assert pool.run(PROGRAM, [[["read", str(shown)]]])[0][0].value == ["is shown"]
    pool.close()


def test_apptainer_gets_readable_folders():
    settings = Settings(rung="apptainer", image="some.sif", readable=("/opt/data",))
    (launch,) = rungs.launches(settings)
    place = launch.command.index("--bind")
    assert launch.command[place + 1] == "/opt/data:/opt/data:ro"
    assert place < launch.command.index("some.sif")


@pytest.mark.parametrize("path", ["shown", "/nowhere/at/all", __file__])
def test_what_is_no_folder_cannot_be_made_readable(path):
    with pytest.raises(ValueError, match=r"readable is '.*'; legal is the absolute path"):
        sandbox.Pool(Settings(readable=(path,)))
