"""The scheduler: the text of a sequence is the same alone and in a batch that others join and leave."""

import threading
import time

import numpy as np
import pytest
from grpc import StatusCode

from tests.serving.generation.stand_in import StandIn, text_of
from tfattn.errors import ServingError
from tfattn.guidance import guide
from tfattn.sampling_params import SamplingParams
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.request import ChatMessage, Occupancy, Request, TextLimits
from tfattn.serving.generation.request_processor import SEED_STEP
from tfattn.serving.generation.scheduler import RequestHandle, Scheduler


@pytest.fixture
def model(tmp_path):
    return StandIn(tmp_path)


def joined(pieces, index=0):
    return "".join(piece.text for piece in pieces if piece.index == index)


def alone(model, prompt, *, length, seed=0, **settings):
    own = {**SamplingParams().of_logits, **settings}
    return text_of(model.alone(list(prompt.encode()), own, seed=seed, length=length))


def begun(scheduler, *requests):
    """Submit requests one after another, each after the previous has output; return the output of each."""
    told = [[] for _ in requests]
    ends = [threading.Event() for _ in requests]
    begins = [threading.Event() for _ in requests]
    handles = []
    for request, pieces, begin, end in zip(requests, told, begins, ends, strict=True):

        def tell(piece, pieces=pieces, begin=begin, end=end):
            if piece is None or isinstance(piece, Failure):
                end.set()
            if piece is not None:
                pieces.append(piece)
            begin.set()

        handles.append(RequestHandle(tell))
        scheduler.submit(request, handles[-1])
        assert begin.wait(60)
    return told, ends, handles


def request(prompt="Once", **settings):
    return Request(**{"prompts": (prompt,), "max_tokens": 20, "seed": 0} | settings)


def test_text_is_streamed_and_equals_generation_without_a_cache(model):
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request("Once upon a time", seed=-7, temperature=0.5, top_k=9)))
    expected = alone(model, "Once upon a time", length=20, seed=-7, temperature=0.5, top_k=9)
    assert joined(pieces) == expected and len(pieces) > 5
    assert pieces[-1].finish_reason in ("stop", "length") and pieces[-1].usage.prompt == 16


def test_sequences_that_join_a_batch_equal_sequences_alone(model):
    random = np.random.default_rng(3)
    prompts = ["".join(chr(97 + one) for one in random.integers(0, 4, random.integers(1, 90))) for _ in range(12)]
    lengths = random.integers(5, 100, len(prompts)).tolist()
    requests = [
        request(prompt, max_tokens=length, seed=seed, presence_penalty=seed / 10)
        for seed, (prompt, length) in enumerate(zip(prompts, lengths, strict=True))
    ]
    with Scheduler(model, TextLimits(max_running=5)) as scheduler:
        told, ends, _ = begun(scheduler, *requests)
        assert all(end.wait(30) for end in ends)
    for seed, (prompt, length, pieces) in enumerate(zip(prompts, lengths, told, strict=True)):
        expected = alone(model, prompt, length=length, seed=seed, presence_penalty=seed / 10)
        assert joined(pieces) == expected
    assert {rows for rows, _ in model.steps} >= {1, 2, 4, 5}


def test_cancelled_requests_change_no_others_and_leave_no_state(model):
    seen = []
    slow = threading.Event()
    model.before_step = lambda: slow.wait(0.005)
    with Scheduler(model, TextLimits(max_running=4), observe=seen.append) as scheduler:
        requests = [request(f"Story {number}", max_tokens=60, seed=number) for number in range(4)]
        told, ends, handles = begun(scheduler, *requests)
        handles[0].cancel()
        handles[2].cancel()
        assert ends[1].wait(60) and ends[3].wait(60)
        for number in (1, 3):
            assert joined(told[number]) == alone(model, f"Story {number}", length=60, seed=number)
        until = time.monotonic() + 60
        while seen[-1] != Occupancy(0, 0) and time.monotonic() < until:
            time.sleep(0.001)
        assert seen[-1] == Occupancy(0, 0) and not scheduler._handles


def test_a_long_prompt_is_prefilled_in_chunks_between_steps(model):
    with Scheduler(model) as scheduler:
        told, ends, _ = begun(scheduler, request("Hi", max_tokens=190, ignore_eos=True))
        (piece, *_) = scheduler.generate(request("x" * 150, max_tokens=1))
        assert len(model.read) >= 3 and max(model.read) <= 64 and sum(model.read) == 150 - 1 + 1
        assert ends[0].wait(60)


def test_a_shared_prefix_is_prefilled_once(model):
    system = "You are a helpful assistant. " * 3
    with Scheduler(model) as scheduler:
        list(scheduler.generate(request(f"{system}What?")))
        before = sum(model.read)
        *_, last = scheduler.generate(request(f"{system}Why?", seed=5))
        assert sum(model.read) - before == len("y?") - 1
        assert last.usage.cached == len(f"{system}Wh") and last.usage.prompt == len(f"{system}Why?")
        pieces = list(scheduler.generate(request(f"{system}Why?", seed=5)))
        assert joined(pieces) == alone(model, f"{system}Why?", length=20, seed=5)


def test_without_a_prefix_cache_every_prompt_is_prefilled(model):
    with Scheduler(model, TextLimits(prefix_bytes=0)) as scheduler:
        for _ in range(2):
            *_, last = scheduler.generate(request("Once upon a time"))
            assert last.usage.cached == 0


def test_several_texts_of_a_prompt_share_the_prefill_and_have_their_own_seeds(model):
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request("Once upon a time", n=3, seed=11)))
    assert sum(model.read) == len("Once upon a time") - 1
    texts = [joined(pieces, index) for index in range(3)]
    assert texts == [alone(model, "Once upon a time", length=20, seed=11 + choice * SEED_STEP) for choice in range(3)]
    assert len(set(texts)) == 3


def test_several_prompts_have_the_same_texts_as_alone(model):
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(Request(prompts=("Once", "Twice"), n=2, seed=4, max_tokens=9)))
    assert joined(pieces, 2) == alone(model, "Twice", length=9, seed=4)


def test_a_chat_follows_the_template_and_names_of_special_tokens_are_plain_text(model):
    with Scheduler(model) as scheduler:
        ids = scheduler._processor._tokenizer.token_ids((ChatMessage(role="user", content="<|im_end|>"),)).tolist()
    assert ids == [256, *b"user\n<|im_end|>", 257, *b"\n", 256, *b"assistant\n"]


def test_a_stop_string_across_tokens_ends_a_text_before_it(tmp_path):
    model = StandIn(tmp_path, script=[*b"The E", 262, *b"more"])  # b"ND"
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request(stop=(" END",))))
    assert joined(pieces) == "The" and pieces[-1].finish_reason == "stop" and pieces[-1].usage.written == 6


def test_the_end_token_is_no_part_of_the_text(tmp_path):
    model = StandIn(tmp_path, script=[*b"Yes", 257])
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request(logprobs=2)))
    assert joined(pieces) == "Yes" and pieces[-1].finish_reason == "stop" and pieces[-1].usage.written == 3
    told = [token for piece in pieces for token in piece.tokens]
    assert "".join(token.text for token in told) == "Yes" and all(len(token.top_logprobs) == 2 for token in told)


def test_tokens_are_sent_with_their_text(tmp_path):
    model = StandIn(tmp_path, script=[*"天".encode(), ord("!")])
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request(logprobs=0)))
    texts = [(piece.text, [token.text.encode("latin-1") for token in piece.tokens]) for piece in pieces if piece.text]
    assert texts[0] == ("天", [bytes([byte]) for byte in "天".encode()])


def test_a_guided_text_is_one_of_the_choices(model):
    with Scheduler(model) as scheduler:
        told, ends, _ = begun(scheduler, request("free", max_tokens=50))
        texts = set()
        for seed in range(10):
            asked = request(n=2, seed=seed, guided={"guided_choice": ["guided", "geé", "no"]})
            pieces = list(scheduler.generate(asked))
            texts |= {joined(pieces, index) for index in range(2)}
            assert [piece.finish_reason for piece in pieces if piece.finish_reason] == ["stop", "stop"]
        assert texts == {"guided", "geé", "no"}
        assert ends[0].wait(60) and joined(told[0]) == alone(model, "free", length=50)


def test_a_guide_that_takes_too_long_fails_alone(model, monkeypatch):
    monkeypatch.setattr(guide, "MAX_SECONDS", 0.0)
    with Scheduler(model) as scheduler:
        told, ends, _ = begun(scheduler, request("free", max_tokens=50))
        with pytest.raises(Failure, match="guided_regex: the guide takes too much computation") as failure:
            list(scheduler.generate(request(guided={"guided_regex": "[a-z]+"}, max_tokens=50)))
        assert failure.value.code is StatusCode.INVALID_ARGUMENT
        assert ends[0].wait(60) and joined(told[0]) == alone(model, "free", length=50)


def test_sequences_continue_while_the_mask_of_another_is_computed(model, monkeypatch):
    computed, may_go_on = guide.compute_mask, threading.Event()

    def late(*arguments, **options):
        assert may_go_on.wait(30)
        return computed(*arguments, **options)

    with Scheduler(model) as scheduler:
        wanted = request(guided={"guided_regex": "[a-z]{9}"})
        expected = joined(scheduler.generate(wanted))
        monkeypatch.setattr(guide, "compute_mask", late)
        told, ends, _ = begun(scheduler, wanted)
        assert joined(scheduler.generate(request("free", max_tokens=50))) == alone(model, "free", length=50)
        assert len(joined(told[0])) < 9
        may_go_on.set()
        assert ends[0].wait(30) and joined(told[0]) == expected


def test_a_guided_text_ends_without_an_end_token(model):
    with Scheduler(model) as scheduler:
        asked = request(guided={"guided_regex": "(?:ab){3}"}, ignore_eos=True)
        assert joined(scheduler.generate(asked)) == "ababab"
        with pytest.raises(Failure, match="guided_regex: only an empty text is valid") as failure:
            list(scheduler.generate(request(guided={"guided_regex": "a{0}"})))
        assert failure.value.code is StatusCode.INVALID_ARGUMENT


class Echo(StandIn):
    """A model that mostly repeats the token thirteen positions before."""

    def scores(self, seen, *rest):
        scores = super().scores(seen, *rest)
        scores[seen[-13]] += 0.95
        return scores


def test_speculation_changes_no_text_and_takes_fewer_steps(tmp_path):
    asked = [
        request("be or not to be or not to", max_tokens=100, seed=1, temperature=0.3, stop=("q",)),
        request("to be or not, that is", max_tokens=60, seed=2, logprobs=3),
        request("the same text is the same", max_tokens=1000, seed=3, ignore_eos=True),
    ]
    found, num_steps = [], []
    for speculative in (False, True):
        model = Echo(tmp_path, context=120)
        with Scheduler(model, TextLimits(speculative=speculative)) as scheduler:
            told, ends, _ = begun(scheduler, *asked)
            assert all(end.wait(20) for end in ends)
        pieces = [[piece for piece in one if piece is not None] for one in told]
        tokens = [[token for piece in one for token in piece.tokens] for one in pieces]
        found.append([(joined(one), one[-1].finish_reason, one[-1].usage.written) for one in pieces] + [tokens])
        num_steps.append(len(model.steps))
        assert (max(map(max, model.num_read)) > 1) == speculative
    assert found[0] == found[1]
    assert num_steps[1] < 0.8 * num_steps[0]


def test_a_text_ends_at_the_end_of_the_context(tmp_path):
    with Scheduler(StandIn(tmp_path, context=20)) as scheduler:
        *_, last = scheduler.generate(request("x" * 15, max_tokens=100, ignore_eos=True))
    assert last.finish_reason == "length" and last.usage.written == 5


@pytest.mark.parametrize(
    "prompt, words",
    [
        ("x" * 200, ["has 200 tokens", "context is 200 tokens"]),
        ("x" * 10_000, ["or more tokens", "context is 200 tokens"]),
        ((5, 4000), ["the token 4000", "from 0 to 262"]),
    ],
)
def test_prompts_that_do_not_do(model, prompt, words):
    with Scheduler(model) as scheduler:
        with pytest.raises(Failure) as failure:
            list(scheduler.generate(request(prompt)))
        assert failure.value.code is StatusCode.INVALID_ARGUMENT
        assert all(word in failure.value.message for word in words), failure.value.message
        assert joined(scheduler.generate(request())) == alone(model, "Once", length=20)


def test_an_empty_prompt_starts_a_document(model):
    expected = text_of(model.alone([257], SamplingParams().of_logits, seed=0, length=20))
    with Scheduler(model) as scheduler:
        assert joined(scheduler.generate(request(""))) == joined(scheduler.generate(request(()))) == expected


def test_the_end_token_of_the_template_ends_an_answer_but_no_text(tmp_path):
    model = StandIn(tmp_path, script=[*b"Yes", 257, *b"No"], end_ids=[258])
    with Scheduler(model) as scheduler:
        assert joined(scheduler.generate(request((ChatMessage(role="user", content="Hi"),)))) == "Yes"
        assert joined(scheduler.generate(request())) == "YesNo"


def test_a_model_without_a_template_does_not_chat(tmp_path):
    with Scheduler(StandIn(tmp_path, chat=False)) as scheduler, pytest.raises(Failure, match="no chat template"):
        list(scheduler.generate(request((ChatMessage(role="user", content="Hi"),))))


def test_warm_up_runs_every_signature_with_every_set_of_outputs(model):
    asked = []
    run = model.run
    model.run = lambda signature, inputs, outputs=(): asked.append((signature, outputs)) or run(signature, inputs)
    scheduler = Scheduler(model)
    scheduler.warm_up()
    warmed = set(asked)
    with scheduler:
        for logprobs in (None, 0, 5):
            list(scheduler.generate(request("Once upon", logprobs=logprobs)))
    assert set(asked) - {("tokenize", ())} == warmed


def test_requests_beyond_the_queue_are_refused_at_once(model):
    step = threading.Event()
    model.before_step = lambda: step.wait(60)
    with Scheduler(model, TextLimits(max_running=1, max_waiting=1)) as scheduler:
        handles = [RequestHandle(lambda piece: None) for _ in range(3)]
        for handle in handles[:2]:
            scheduler.submit(request(), handle)
        with pytest.raises(Failure) as failure:
            scheduler.submit(request(), handles[2])
        assert failure.value.code is StatusCode.UNAVAILABLE
        step.set()
        with pytest.raises(Failure, match="asks for 3 texts; at most 2") as failure:
            scheduler.submit(request(n=3), handles[2])
        assert failure.value.code is StatusCode.INVALID_ARGUMENT


def test_a_failure_of_the_model_reaches_callers_and_the_next_request_succeeds(model):
    def fail():
        model.before_step = lambda: None
        raise Failure(StatusCode.INTERNAL, "out of memory")

    with Scheduler(model) as scheduler:
        model.before_step = fail
        with pytest.raises(Failure, match="out of memory"):
            list(scheduler.generate(request()))
        assert joined(scheduler.generate(request())) == alone(model, "Once", length=20)


class Poisoned(StandIn):
    """A model that fails for certain prompts and temperatures."""

    def prefill(self, token_ids, **inputs):
        if (token_ids == ord("?")).any():
            raise Failure(StatusCode.INTERNAL, "cannot read")
        return super().prefill(token_ids=token_ids, **inputs)

    def decode_step(self, temperature, allowed, **inputs):
        if (temperature == np.float32(0.1)).any():
            raise RuntimeError("cannot compute")
        drawn = super().decode_step(temperature=temperature, allowed=allowed, **inputs)
        drawn["token_ids"][temperature == np.float32(0.2)] = 5000  # in no vocabulary
        drawn["token_ids"][temperature == np.float32(0.3)] = 7  # whatever is allowed
        return drawn


POISONS = [
    request("a?" * 9),
    request(temperature=0.1),
    request("Once upon a time", temperature=0.1, n=3, logprobs=2),
    request(temperature=0.2),
    request(temperature=0.3, guided={"guided_regex": "[a-z]+"}),
]


def test_a_thousand_failing_requests_change_no_others(tmp_path):
    def refuse(piece):
        raise OSError("nobody hears it")

    model = Poisoned(tmp_path)
    asked = [request(f"Story {seed}", max_tokens=190, seed=seed, ignore_eos=True) for seed in range(8)]
    expected = []
    with Scheduler(model) as scheduler:
        for one in asked:
            expected.append(joined(scheduler.generate(one)))
    failures = []
    with Scheduler(model, TextLimits(max_running=12, max_waiting=4000)) as scheduler:
        told, ends, _ = begun(scheduler, *asked)
        for number in range(1000):
            is_deaf = number % 10 == 9
            tell = refuse if is_deaf else lambda piece: isinstance(piece, Failure) and failures.append(piece)
            scheduler.submit(request() if is_deaf else POISONS[number % len(POISONS)], RequestHandle(tell))
        assert all(end.wait(60) for end in ends)
        assert not [pieces[-1] for pieces in told if isinstance(pieces[-1], Failure)]
        assert [joined(pieces) for pieces in told] == expected
        assert joined(scheduler.generate(request())) == alone(model, "Once", length=20)
    assert len(failures) == 900
    said = {failure.message for failure in failures}
    assert said == {"cannot read", "cannot write: RuntimeError('cannot compute')"} | {
        "cannot write: IndexError('index 5000 is out of bounds for axis 1 with size 263')",
        "cannot write: ValueError('the token 7 is not allowed')",
    }


def test_a_model_without_text_generation_is_refused(tmp_path):
    class Classifier:
        folder = tmp_path

    with pytest.raises(ServingError, match="does not write texts step by step"):
        Scheduler(Classifier())
