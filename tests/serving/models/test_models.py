"""Which versions are loaded and answer as folders, failures and configurations come and go.

The disk is real; versions are stand-ins that write down when they are loaded and unloaded, and hold what must hold at
that moment: one load at a time, and nothing unloaded before something else answers.
"""

import asyncio
import contextlib
import functools
import json
import random
import shutil
from pathlib import Path
from unittest import mock

import pytest
from google.protobuf import text_format
from grpc import StatusCode
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from tfattn.serving.api.failure import Failure
from tfattn.serving.models import model, versions_on_disk
from tfattn.serving.models.models import Models
from tfattn.serving.models.version import VersionState
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving

POLL = 0.005
PATIENCE = 60.0


class Version:
    """A version that loads as its saved_model.pb says: "good", "bad", or "slow" until the server's gate opens."""

    def __init__(self, server, model, number, folder, *, serving, parameters, metrics):
        self.server, self.model, self.number, self.folder = server, model, number, folder
        self.state, self.error = VersionState.START, None
        self.is_answering, self.progress = True, "loading"
        self.unused = asyncio.Event()
        self.unused.set()

    async def load(self, *, low_priority=False):
        assert self.state is VersionState.START
        assert self.server.loading is None, "two loads at once"
        self.server.loading = self
        self.server.note("loading", self)
        self.state = VersionState.LOADING
        try:
            await asyncio.sleep(0.001)
            text = (self.folder / "saved_model.pb").read_text()
            if text == "slow":
                await self.server.gate.wait()
            if text == "bad":
                raise Failure(StatusCode.FAILED_PRECONDITION, "not a model")
        except asyncio.CancelledError:
            self.state = VersionState.END
            raise
        except (Failure, FileNotFoundError) as error:
            self.state = VersionState.END
            self.error = error if isinstance(error, Failure) else Failure(StatusCode.INTERNAL, "no file")
            self.server.note("failed", self)
            raise self.error from None
        finally:
            self.server.loading = None
        self.state = VersionState.AVAILABLE
        self.server.note("available", self)

    async def unload(self):
        assert self.state is VersionState.AVAILABLE
        self.state = VersionState.UNLOADING
        self.server.note("unloading", self)
        if self.server.may_not_go_dark:
            assert self.server.available(self.model), "nothing answers any more"
        await self.unused.wait()
        self.state = VersionState.END
        self.server.note("unloaded", self)

    def die(self):
        self.state, self.error = VersionState.END, Failure(StatusCode.INTERNAL, "killed")


class Server:
    """Models in their own folder."""

    def __init__(self, disk: Path, **settings):
        self.disk, self.history, self.loading = disk, [], None
        self.may_not_go_dark = "as_tf_serving" not in settings
        self.gate = asyncio.Event()
        settings = {"poll_seconds": POLL, "load_retries": 1, "load_retry_seconds": 0.01, **settings}
        self.serving = Serving(**settings)
        self.models: Models | None = None

    def config(self, *entries: tuple[str, str]) -> ModelServerConfig:
        """Write entries from names and further fields."""
        config = ModelServerConfig()
        for name, more in entries:
            one = text_format.Parse(more, ModelConfig(name=name))
            one.base_path = one.base_path or str(self.disk / name)
            one.model_platform = one.model_platform or "tensorflow"
            config.model_config_list.config.append(one)
        return config

    def write(self, name: str, text: str = "good", model: str = "m") -> None:
        hidden = self.disk / model / f".{name}"
        hidden.mkdir(parents=True)
        (hidden / "saved_model.pb").write_text(text)
        hidden.rename(self.disk / model / name)

    def remove(self, name: str, model: str = "m") -> None:
        shutil.rmtree((self.disk / model / name).rename(self.disk / model / f".{name}.gone"))

    def note(self, event: str, version: Version) -> None:
        self.history.append((event, version.model, version.number))

    def available(self, model: str = "m") -> list[int]:
        """Return the available versions, newest first; `find` returns the first."""
        numbers = []
        with contextlib.suppress(Failure):
            numbers = [one.number for one in self.models.status(model) if self.answers(model, one.number)]
        assert self.answers(model) == numbers[:1]
        return numbers

    def answers(self, *asked) -> list[int]:
        """Return the number of the version that `find` returns, if any."""
        with contextlib.suppress(Failure):
            found = self.models.find(*asked)
            assert found.state is VersionState.AVAILABLE
            return [found.number]
        return []

    def of(self, event: str) -> list[tuple[str, int]]:
        """Return the versions of an event."""
        return sorted((model, number) for one, model, number in self.history if one == event)

    def states(self, model: str = "m") -> dict[int, str]:
        return {one.number: one.state.name for one in self.models.status(model)}

    async def until(self, is_so) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not is_so():
                    await asyncio.sleep(POLL / 2)
        assert is_so(), self.history[-20:]

    async def becomes(self, *numbers: int, model: str = "m") -> None:
        """Wait until these versions are available, newest first, and stay so for some scans."""
        await self.until(lambda: self.available(model) == list(numbers))
        await self.stays(*numbers, model=model)

    async def stays(self, *numbers: int, model: str = "m") -> None:
        for _ in range(5):
            await asyncio.sleep(POLL)
            assert self.available(model) == list(numbers), self.history[-20:]


def serves(*entries: tuple[str, str], versions: tuple[str, ...] = ("1", "2"), start: bool = True, **settings):
    """Run a test with a server, and check that no task is left."""
    entries = entries or (("m", ""),)

    def decorate(test):
        @functools.wraps(test)
        def run(tmp_path):
            async def life():
                server = Server(tmp_path, **settings)
                for name, _ in entries:
                    for version in versions:
                        server.write(version, model=name)
                server.models = Models(
                    server.serving,
                    server.config(*entries),
                    parameters=None,
                    metrics=Metrics(),
                    make_version=functools.partial(Version, server),
                )
                if start:
                    await server.models.start()
                try:
                    await test(server)
                finally:
                    server.may_not_go_dark = False
                    await server.models.stop()
                assert asyncio.all_tasks() == {asyncio.current_task()}
                assert server.of("available") == server.of("unloaded") or "die" in test.__name__

            asyncio.run(life())

        del run.__wrapped__  # pytest would ask for the fixture `server`
        return run

    return decorate


def refused(call, *arguments, **options) -> tuple[StatusCode, str]:
    with pytest.raises(Failure) as caught:
        call(*arguments, **options)
    return caught.value.code, caught.value.message


async def not_reloaded(server: Server, *entries: tuple[str, str]) -> tuple[StatusCode, str]:
    with pytest.raises(Failure) as caught:
        await server.models.reload(server.config(*entries))
    return caught.value.code, caught.value.message


@serves(versions=("1", "2", "10", "nonsense"))
async def test_after_the_start_the_latest_version_answers(server):
    assert server.available() == [10]
    assert server.models.names == ["m"] and server.models.ready
    assert server.states() == {10: "AVAILABLE"}
    assert server.history == [("loading", "m", 10), ("available", "m", 10)]


@serves(("m", ""), ("n", ""), versions=(), start=False)
async def test_readiness_says_how_far_each_model_is(server):
    server.write("1", "bad")
    server.write("1", "slow", model="n")
    start = asyncio.create_task(server.models.start())
    while server.models.readiness != "0 of 2 models are available; failed to load; loading":
        await asyncio.sleep(POLL)
    server.gate.set()
    await start
    assert server.models.readiness == "1 of 2 models are available; failed to load"


@serves()
async def test_a_server_that_shuts_down_is_not_ready(server):
    server.models.draining = True
    assert not server.models.ready and server.models.readiness == "The server is shutting down"


@serves(start=False)
async def test_before_the_start_nothing_answers(server):
    assert not server.models.ready
    assert refused(server.models.find, "m") == (StatusCode.NOT_FOUND, "Servable not found for request: Latest(m)")
    assert refused(server.models.find, "m", label="x")[0] is StatusCode.UNAVAILABLE


@serves()
async def test_who_asks_for_what_there_is_not_is_told_as_by_tf_serving(server):
    find, status, absent = server.models.find, server.models.status, StatusCode.NOT_FOUND
    assert find("m", 2).number == 2
    assert refused(find, "foo") == (absent, "Servable not found for request: Latest(foo)")
    assert refused(find, "m", 1) == (absent, "Servable not found for request: Specific(m, 1)")
    assert refused(find, "foo", 99) == (absent, "Servable not found for request: Specific(foo, 99)")
    for name in ("m", "foo"):
        expected = (StatusCode.INVALID_ARGUMENT, "Unrecognized servable version label: x")
        assert refused(find, name, label="x") == expected
    assert refused(status, "foo") == (absent, "Could not find any versions of model foo")
    assert refused(status, "m", 99) == (absent, "Could not find version 99 of model m")
    assert [one.number for one in status("m", 2)] == [2]


@serves(
    ("two", "model_version_policy { latest { num_versions: 2 } }"),
    ("all", "model_version_policy { all {} }"),
    ("some", "model_version_policy { specific { versions: 3 versions: 1 versions: 9 } }"),
    versions=("1", "2", "03"),
)
async def test_policies(server):
    assert [server.available(name) for name in ("two", "all", "some")] == [[3, 2], [3, 2, 1], [3, 1]]
    server.write("9", model="some")
    await server.becomes(9, 3, 1, model="some")


@serves()
async def test_a_new_version_answers_before_the_old_one_goes(server):
    old = server.models.find("m")
    old.unused.clear()
    server.write("3")
    await server.until(lambda: server.states() == {3: "AVAILABLE", 2: "UNLOADING"})
    assert server.available() == [3]
    old.unused.set()
    await server.until(lambda: server.states() == {3: "AVAILABLE", 2: "END"})
    assert [one[0] for one in server.history[2:]] == ["loading", "available", "unloading", "unloaded"]


@serves(("m", "model_version_policy { latest { num_versions: 2 } }"))
async def test_as_many_answer_as_are_wanted_while_one_of_them_fails(server):
    server.write("3", "bad")
    await server.until(lambda: server.history.count(("failed", "m", 3)) == 2)
    await server.stays(2, 1)
    server.write("4")
    await server.becomes(4, 2)
    server.remove("3")
    await server.becomes(4, 2)


@serves()
async def test_when_the_latest_is_deleted_the_one_before_comes_back(server):
    server.remove("2")
    await server.becomes(1)
    assert server.history[2:4] == [("loading", "m", 1), ("available", "m", 1)]
    server.write("2")
    await server.becomes(2)


@serves()
async def test_while_the_folder_is_missing_nothing_changes(server):
    (server.disk / "m").rename(server.disk / "away")
    await server.stays(2)
    (server.disk / "away").rename(server.disk / "m")
    server.write("3")
    await server.becomes(3)


@serves()
async def test_the_last_version_keeps_serving_when_its_folder_vanishes(server):
    server.remove("1")
    server.remove("2")
    await server.stays(2)
    server.write("1")
    await server.becomes(1)


@serves(as_tf_serving=["keep_last_version"])
async def test_as_tf_serving_the_last_version_goes(server):
    server.remove("1")
    server.remove("2")
    await server.until(lambda: set(server.states().values()) == {"END"})
    assert not server.available() and not server.models.ready
    server.write("1")
    await server.becomes(1)


@serves(load_retries=2)
async def test_a_version_that_fails_is_tried_again_a_few_times_and_the_old_one_stays(server):
    server.write("3", "bad")
    await server.until(lambda: server.history.count(("failed", "m", 3)) == 3)
    await server.stays(2)
    assert server.history.count(("loading", "m", 3)) == 3
    assert server.states() == {3: "END", 2: "AVAILABLE"}
    (version,) = server.models.status("m", 3)
    assert version.error.message == "not a model"
    server.remove("3")
    await server.stays(2)
    server.write("4")
    await server.becomes(4)


@serves(load_retry_seconds=60.0)
async def test_tries_are_apart(server):
    server.write("3", "bad")
    await server.until(lambda: server.history.count(("failed", "m", 3)) == 1)
    await server.stays(2)
    assert server.history.count(("loading", "m", 3)) == 1


@contextlib.contextmanager
def copying(path: Path):
    """The file grows before each scan, as if it were being copied."""
    looks, look = [], versions_on_disk.scan

    def look_later(*arguments, **options):
        path.write_text("b" * len(looks))
        looks.append(None)
        return look(*arguments, **options)

    with mock.patch.object(versions_on_disk, "scan", look_later):
        yield looks


@serves(load_retry_seconds=60.0)
async def test_a_version_whose_files_change_is_tried_when_they_are_still(server):
    server.write("3", "bad")
    await server.until(lambda: server.history.count(("failed", "m", 3)) == 1)
    with copying(server.disk / "m/3/variables") as looks:
        await server.until(lambda: len(looks) == 8)
    assert server.history.count(("loading", "m", 3)) == 1
    (server.disk / "m/3/saved_model.pb").write_text("good")
    await server.becomes(3)


@serves()
async def test_a_version_that_is_being_copied_is_left_alone(server):
    (server.disk / "m/3").mkdir()
    with copying(server.disk / "m/3/saved_model.pb") as looks:
        await server.until(lambda: len(looks) == 8)
    assert ("loading", "m", 3) not in server.history
    (server.disk / "m/3/saved_model.pb").write_text("good")
    await server.becomes(3)


@serves()
async def test_what_happens_to_the_files_of_a_loaded_version_changes_nothing(server):
    before = list(server.history)
    (server.disk / "m/2/saved_model.pb").write_text("bad")
    server.write("002")
    await server.stays(2)
    assert server.history == before


@serves(("m", "model_version_policy { all {} }"))
async def test_new_versions_are_loaded_one_after_the_other_the_newest_first(server):
    for name in ("5", "4", "3"):
        server.write(name)
    await server.becomes(5, 4, 3, 2, 1)
    assert [number for event, _, number in server.history[4:] if event == "loading"] in ([5, 4, 3], [4, 5, 3])


@serves(("m", ""), ("other", ""), load_retries=0)
async def test_versions_that_come_faster_than_they_load_do_not_pile_up(server):
    server.write("3", "slow")
    await server.until(lambda: server.states().get(3) == "LOADING")
    server.write("4")
    server.write("3", model="other")
    await server.stays(2)
    assert server.available("other") == [2]
    server.gate.set()
    await server.becomes(4)
    await server.becomes(3, model="other")
    assert ("available", "m", 3) in server.history


@serves()
async def test_a_version_that_comes_back_while_it_is_unloaded_waits_for_that(server):
    old = server.models.find("m")
    old.unused.clear()
    server.remove("2")
    await server.becomes(1)
    server.write("2")
    await server.stays(1)
    old.unused.set()
    await server.becomes(2)
    assert server.models.find("m") is not old


@serves()
async def test_the_models_are_not_ready_while_the_process_of_one_is_replaced(server):
    for is_answering in (False, True):
        server.models.find("m").is_answering = is_answering
        assert server.models.ready is is_answering


@serves(load_retries=3)
async def test_versions_that_die_for_good_are_loaded_again(server):
    died = server.models.find("m")
    died.die()
    assert not server.models.ready
    await server.becomes(2)
    assert server.models.find("m") is not died and server.models.ready


@serves(load_retries=1)
async def test_a_version_that_dies_and_cannot_be_loaded_again_is_never_given_up(server):
    (server.disk / "m/2/saved_model.pb").write_text("bad")
    with mock.patch.object(model, "MIN_RETRY_SECONDS", 0.0):
        server.models.find("m").die()
        await server.until(lambda: server.history.count(("failed", "m", 2)) > 5)
    server.write("3")
    await server.becomes(3)


def test_waits_double_from_death_to_death_until_it_has_been_well_for_a_while(tmp_path, capfd):
    waits = {"MIN_RETRY_SECONDS": 0.001, "RESTART_WINDOW": 60.0}

    @serves(load_retry_seconds=0.005)
    async def dies(server):
        async def dies(times):
            for _ in range(times):
                server.models.find("m").die()
                await server.becomes(2)

        with mock.patch.multiple(model, **waits):
            await dies(5)
        with mock.patch.multiple(model, **waits | {"RESTART_WINDOW": 0.0}):
            await dies(1)

    dies(tmp_path)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    failed = [line["next_try_seconds"] for line in lines if line["event"] == "version_failed"]
    assert failed == [0.001, 0.002, 0.004, 0.005, 0.005, 0.001]


@serves(versions=())
async def test_a_model_may_wait_for_its_first_version(server):
    (server.disk / "m").mkdir()
    await server.stays()
    assert server.models.names == ["m"] and not server.models.ready
    assert refused(server.models.status, "m")[0] is StatusCode.NOT_FOUND
    server.write("1")
    await server.becomes(1)
    assert server.models.ready


@serves()
async def test_of_versions_that_are_gone_the_status_shows_the_last_ones(server):
    for number in range(3, 20):
        server.write(str(number))
        await server.until(lambda number=number: server.available() == [number])
        await server.until(lambda number=number: server.states().get(number - 1) == "END")
    assert list(server.states()) == list(range(19, 8, -1))


LABELS = 'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }'
ALL = "model_version_policy { all {} } "


@serves(("m", ALL + LABELS))
async def test_labels_lead_to_versions(server):
    assert server.models.find("m", label="stable").number == 1
    assert server.models.find("m", label="canary").number == 2
    server.remove("1")
    await server.becomes(2)
    expected = (StatusCode.NOT_FOUND, "Servable not found for request: Specific(m, 1)")
    assert refused(server.models.find, "m", label="stable") == expected


@serves(("m", ALL + LABELS))
async def test_labels_may_only_move_to_versions_that_are_available(server):
    moved = LABELS.replace("value: 1", "value: 2")
    await server.models.reload(server.config(("m", ALL + moved)))
    assert server.models.find("m", label="stable").number == 2
    code, message = await not_reloaded(
        server, ("m", ALL + moved.replace("stable", "new").replace("value: 2", "value: 7"))
    )
    assert code is StatusCode.FAILED_PRECONDITION
    assert message == "Request to assign label to version 7 of model m, which is not currently available for inference"
    assert server.models.find("m", label="stable").number == 2  # nothing has changed
    await server.models.reload(server.config(("m", ALL)))
    assert refused(server.models.find, "m", label="stable")[0] is StatusCode.INVALID_ARGUMENT


@serves(("m", ALL + LABELS), labels_for_unavailable=True)
async def test_new_labels_may_be_given_to_any_version_where_that_is_allowed(server):
    new = 'version_labels { key: "new" value: 7 } '
    await server.models.reload(server.config(("m", ALL + LABELS + new)))
    assert refused(server.models.find, "m", label="new")[0] is StatusCode.NOT_FOUND
    server.write("7")
    await server.becomes(7, 2, 1)
    assert server.models.find("m", label="new").number == 7
    moved = LABELS.replace("value: 1", "value: 8")
    assert (await not_reloaded(server, ("m", ALL + moved)))[0] is StatusCode.FAILED_PRECONDITION


@serves(("m", ""), ("old", ""))
async def test_a_reload_adds_and_removes_models(server):
    used = server.models.find("old")
    used.unused.clear()
    server.may_not_go_dark = False
    server.write("5", model="new")
    await server.models.reload(server.config(("new", ""), ("m", ALL)))
    assert server.models.names == ["new", "m"] and server.models.ready
    assert server.available("new") == [5] and server.available("m") == [2, 1]
    assert refused(server.models.find, "old")[0] is StatusCode.NOT_FOUND
    await server.until(lambda: ("unloading", "old", 2) in server.history)
    assert ("unloaded", "old", 2) not in server.history
    used.unused.set()
    await server.until(lambda: ("unloaded", "old", 2) in server.history)


@serves()
async def test_a_reload_that_changes_nothing_loads_nothing(server):
    before = list(server.history)
    await server.models.reload(server.config(("m", "")))
    await server.stays(2)
    assert server.history == before


@serves()
async def test_a_reload_of_nothing_unloads_everything(server):
    server.may_not_go_dark = False
    await server.models.reload(server.config())
    await server.until(lambda: server.history[-1] == ("unloaded", "m", 2))
    assert server.models.names == []


@serves(load_retry_seconds=60.0)
async def test_a_reload_says_which_models_did_not_load_and_goes_on_trying(server):
    server.write("4", "bad", model="new")
    code, message = await not_reloaded(server, ("m", ""), ("new", ""))
    assert code is StatusCode.UNKNOWN
    assert message == "1 model(s) did not become available: {{name: new version: 4} due to error: not a model}"
    assert server.models.names == ["m", "new"] and server.available() == [2]
    (server.disk / "new/4/saved_model.pb").write_text("good")
    await server.becomes(4, model="new")


@serves()
async def test_a_reload_that_is_wrong_changes_nothing(server):
    for entries, expected in (
        ([("m", ""), ("m", "")], "Illegal to list model m multiple times in config list"),
        ([("m", ""), ("n", "")], f"Could not find base path {server.disk}/n for servable n"),
        ([("m", 'base_path: "models/m"')], "Expected model m to have an absolute path"),
        ([("m", 'model_platform: "onnx"')], "Model m requests unsupported platform"),
    ):
        code, message = await not_reloaded(server, *entries)
        assert code is StatusCode.INVALID_ARGUMENT
        assert message.startswith(expected)
    assert server.models.names == ["m"] and server.available() == [2]


@serves()
async def test_reloads_come_one_after_the_other(server):
    server.write("1", model="a")
    server.write("1", model="b")
    server.may_not_go_dark = False
    reload, config = server.models.reload, server.config
    await asyncio.gather(reload(config(("a", ""))), reload(config(("b", ""))), reload(config(("a", ""), ("b", ""))))
    assert server.models.names == ["a", "b"]
    assert server.available("a") == server.available("b") == [1]


@serves()
async def test_a_stop_gives_up_what_is_being_loaded(server):
    server.write("1", "slow", model="n")
    reloading = asyncio.create_task(server.models.reload(server.config(("m", ""), ("n", ""))))
    await server.until(lambda: ("loading", "n", 1) in server.history)
    server.may_not_go_dark = False
    await server.models.stop()
    await reloading


def test_lives_are_logged(tmp_path, capfd):
    @serves(load_retries=0)
    async def life(server):
        server.write("3", "bad")
        await server.until(lambda: ("failed", "m", 3) in server.history)
        (server.disk / "m").rename(server.disk / "away")
        await server.stays(2)

    life(tmp_path)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    events = [(line["event"], line.get("version")) for line in lines]
    assert events == [
        ("model_added", None),
        ("version_loading", 2),
        ("version_available", 2),
        ("version_loading", 3),
        ("version_failed", 3),
        ("problem_on_disk", None),
        ("version_unloaded", 2),
    ]
    assert lines[4]["error"] == "not a model" and lines[4]["tries_left"] == 0


POLICIES = (
    "",
    "latest { num_versions: 2 }",
    "latest { num_versions: 3 }",
    "all {}",
    "specific { versions: [2, 4, 5] }",
)


def chosen(policy: str, numbers: list[int]) -> set[int]:
    if policy == "all {}":
        return set(numbers)
    if policy.startswith("specific"):
        return {2, 4, 5} & set(numbers)
    return set(sorted(numbers)[-int(policy[-3]) if policy else -1 :])


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_something_answers(seed, tmp_path):
    """Versions appear, fail, recover and disappear, and policies change; the stand-ins check the invariants."""
    draw = random.Random(seed)

    @serves(versions=("1",), load_retries=5, load_retry_seconds=0.0)
    async def life(server):
        disk, policy = {1: "good"}, ""
        for _ in range(100):
            match draw.choice(("add", "add", "remove", "mend", "policy", "use", "free", "away", "wait", "settle")):
                case "add":
                    number = draw.randrange(1, 7)
                    if number not in disk:
                        disk[number] = draw.choice(("good", "good", "bad"))
                        server.write(draw.choice(("", "00")) + str(number), disk[number])
                case "remove" if disk:
                    number = draw.choice(sorted(disk))
                    del disk[number]
                    for name in (f"{number}", f"00{number}"):
                        if (server.disk / "m" / name).is_dir():
                            server.remove(name)
                case "mend":
                    for path in (server.disk / "m").glob("*/saved_model.pb"):
                        disk[int(path.parent.name)] = "good"
                        path.write_text("good")
                case "policy":
                    policy = draw.choice(POLICIES)
                    given = f"model_version_policy {{ {policy} }}" if policy else ""
                    await server.models.reload(server.config(("m", given)))
                case "use":
                    server.models.find("m").unused.clear()
                case "free":
                    free(server)
                case "away":
                    (server.disk / "m").rename(server.disk / "away")
                    await asyncio.sleep(draw.random() * 4 * POLL)
                    (server.disk / "away").rename(server.disk / "m")
                case "wait":
                    await asyncio.sleep(draw.random() * 4 * POLL)
                case "settle":
                    await settled(server, disk, policy)
            assert server.available(), server.history[-20:]
        await settled(server, disk, policy)
        free(server)

    life(tmp_path)


def free(server) -> None:
    for version in server.models.status("m"):
        version.unused.set()


async def settled(server, disk, policy) -> None:
    """Wait for the final state: all selected and loadable versions, and no others unless none is selected."""
    wanted = chosen(policy, list(disk))
    good = {number for number in wanted if disk[number] == "good"}
    free(server)

    def is_so() -> bool:
        available = server.available()
        return good <= set(available) and len(available) == max(1, min(len(wanted), len(available)))

    await server.until(is_so)
    if good == wanted != set():
        await server.until(lambda: set(server.available()) == wanted)
