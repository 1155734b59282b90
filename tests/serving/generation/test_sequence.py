"""Token rules: generated tokens follow the rules of their request, and rules change nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving.generation.stand_in import TOKENS, StandIn
from tests.serving.generation.test_scheduler import alone, begun, joined, request
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.scheduler import Scheduler
from tfattn.serving.generation.sequence import MAX_PROPOSED, MIN_MATCH, NgramProposer, TokenRules, count_accepted

IDS = st.integers(0, 5)
END = 258


@given(
    st.lists(IDS, max_size=6),
    st.none() | st.lists(IDS, min_size=1, max_size=4),
    st.lists(st.lists(IDS, min_size=1, max_size=3), max_size=3),
    st.integers(0, 4),
)
def test_the_mask_applies_each_rule_to_each_token(written, allowed, banned, min_tokens):
    rules = TokenRules(
        allowed_ids=None if allowed is None else tuple(allowed),
        banned=tuple(map(tuple, banned)),
        min_tokens=min_tokens,
        end_ids=frozenset([5]),
    )
    mask = rules.mask(written, vocabulary_size=6)
    for token_id in range(6):
        text = [*written, token_id]
        is_banned = any(text[-len(sequence) :] == sequence for sequence in banned)
        is_early = token_id == 5 and len(written) < min_tokens
        assert mask[token_id] == ((allowed is None or token_id in allowed) and not is_banned and not is_early)
    assert not rules.allow_everything or mask.all()


@pytest.fixture
def model(tmp_path):
    return StandIn(tmp_path)


def write(model, **settings):
    with Scheduler(model) as scheduler:
        pieces = list(scheduler.generate(request(**settings)))
    return joined(pieces), pieces[-1]


def test_rules_without_effect_change_no_text(model):
    expected = alone(model, "Once", length=20)
    every = tuple(range(len(TOKENS)))
    for rules in ({"allowed_token_ids": every}, {"bad_words": ("\x7f" * 9,)}, {"logit_bias": {7: 0.0}}):
        assert write(model, **rules)[0] == expected


def test_only_allowed_tokens_are_generated_and_an_end_only_if_allowed(model):
    text, last = write(model, allowed_token_ids=(97, 98))
    assert set(text) == {"a", "b"} and (len(text), last.finish_reason) == (20, "length")
    with Scheduler(model) as scheduler:
        asked = [request(allowed_token_ids=(97, END), seed=seed) for seed in range(20)]
        assert "stop" in {list(scheduler.generate(one))[-1].finish_reason for one in asked}


def test_bad_words_are_not_generated_but_their_prefixes_are(model):
    few = {"allowed_token_ids": (97, 98, 99), "max_tokens": 100}
    text, _ = write(model, **few)
    assert "aba" in text and "bb" in text
    text, last = write(model, **few, bad_words=("aba", "bb"))
    assert "aba" not in text and "bb" not in text and "a" in text and last.usage.written == 100


def test_nothing_ends_a_text_before_min_tokens(tmp_path):
    model = StandIn(tmp_path, script=[97, 98, 97, 98, 97, 99, 97, 98])
    assert write(model, stop=("ab",))[0] == ""
    assert write(model, stop=("ab",), min_tokens=3)[0] == "aba"[:2]
    assert write(model, stop=("ab",), min_tokens=4)[0] == "ababac"
    assert write(model, stop_token_ids=(98,))[0] == "a"
    text, last = write(model, stop_token_ids=(99,))
    assert (text, last.finish_reason) == ("ababa", "stop")
    *_, last = write(model, min_tokens=15)
    assert (last.finish_reason, last.usage.written >= 15) == ("stop", True)


def test_a_stop_token_ends_a_text_that_ignores_end_tokens(tmp_path):
    model = StandIn(tmp_path, script=[97, END, 98, 99])
    text, last = write(model, ignore_eos=True, stop_token_ids=(99,))
    assert (text, last.finish_reason, last.usage.written) == ("ab", "stop", 3)


def test_a_stop_token_is_not_forbidden_within_a_guided_text(model):
    text, last = write(model, guided={"guided_regex": "a{9}"}, stop_token_ids=(97,))
    assert (text, last.finish_reason) == ("", "stop")


def test_a_bias_forbids_and_forces_tokens_in_its_own_sequence_only(model):
    with Scheduler(model) as scheduler:
        asked = request(logit_bias={97: 100.0}, max_tokens=50), request(max_tokens=50)
        (forced, free), ends, _ = begun(scheduler, *asked)
        assert all(end.wait(10) for end in ends)
        assert (joined(forced), joined(free)) == ("a" * 50, alone(model, "Once", length=50))
        text = joined(scheduler.generate(request(logit_bias=dict.fromkeys(range(97, 123), -100.0))))
        assert text and not set(text) & set("abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize(
    "rules, said",
    [
        ({"allowed_token_ids": (5, 10**6)}, f"allowed_token_ids: .* to {len(TOKENS) - 1}, received 1000000"),
        ({"stop_token_ids": (10**6,)}, "stop_token_ids: "),
        ({"logit_bias": {10**6: 1.0}}, "logit_bias: "),
        ({"allowed_token_ids": (97,), "bad_words": ("aa",)}, "token 2 of the text: no token may come next"),
        ({"allowed_token_ids": (97,), "guided": {"guided_regex": "b"}}, "token 1 of the text: no token may come next"),
    ],
)
def test_rules_without_solution_fail_alone(model, rules, said):
    with Scheduler(model) as scheduler:
        (other,), (end,), _ = begun(scheduler, request(max_tokens=100))
        with pytest.raises(Failure, match=said):
            list(scheduler.generate(request(**rules)))
        assert end.wait(10) and joined(other) == alone(model, "Once", length=100)


def test_an_export_without_bias_input_generates_and_refuses_a_bias(tmp_path):
    older = StandIn(tmp_path, takes_logit_bias=False)
    assert write(older)[0] == alone(older, "Once", length=20)
    with pytest.raises(Failure, match="logit_bias: .*export the model again"):
        write(older, logit_bias={5: 1.0})


def test_rules_survive_serialization():
    asked = request(
        logit_bias={5: -1.5}, bad_words=("no",), allowed_token_ids=(1, 2), stop_token_ids=(3,), min_tokens=2
    )
    assert type(asked).model_validate_json(asked.model_dump_json()) == asked
    assert np.isfinite(asked.logit_bias[5])


TEXTS = st.lists(st.integers(0, 2), max_size=60)


def searched(token_ids):
    """The proposals of a search through the whole text: after the last occurrence of the longest match."""
    for length in range(min(4, len(token_ids)), MIN_MATCH - 1, -1):
        for end in range(len(token_ids) - 1, length - 1, -1):
            if token_ids[end - length : end] == token_ids[-length:]:
                return (token_ids[end:] * MAX_PROPOSED)[:MAX_PROPOSED]
    return []


@settings(deadline=None)
@given(TEXTS, st.integers(1, 7))
def test_proposals_follow_the_last_occurrence_of_the_longest_match(token_ids, stride):
    proposer = NgramProposer()
    for end in range(0, len(token_ids) + 1, stride):
        assert proposer.propose(token_ids[:end], max_tokens=MAX_PROPOSED) == searched(token_ids[:end])


def test_proposals_keep_the_limit():
    token_ids = [1, 2, 3, 4, 5, 6, 1, 2]
    assert NgramProposer().propose(token_ids, max_tokens=2) == [3, 4]
    assert NgramProposer().propose([1, 2, 3], max_tokens=8) == NgramProposer().propose([], max_tokens=8) == []


def test_a_repetition_continues():
    assert NgramProposer().propose([7, 1, 2, 1, 2, 1, 2], max_tokens=5) == [1, 2, 1, 2, 1]


def test_rejections_halve_the_proposals_and_acceptance_doubles_them():
    proposer, token_ids = NgramProposer(), [1] * 20
    lengths = []
    for accepted in (0, 1, 0, 0, 0, 1, 2, 4, 8):
        proposed = len(proposer.propose(token_ids, max_tokens=100))
        lengths.append(proposed)
        proposer.update(proposed, accepted)
        proposer.update(0, 0)
    assert lengths == [8, 4, 2, 1, 1, 1, 2, 4, 8]


def test_proposals_are_accepted_up_to_the_first_difference():
    assert count_accepted([1, 2, 3], [1, 2, 3, 9]) == 3
    assert count_accepted([1, 2, 3], [1, 7, 3, 9]) == 1
    assert count_accepted([], [4]) == 0
