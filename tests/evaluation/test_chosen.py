"""What was chosen, and how surely."""

import numpy as np

from tfattn.evaluation.chosen import Chosen


def test_mistakes_come_in_the_order_of_certainty():
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5], [0.7, 0.3]])
    given = np.array([0, 1, 1, 0, 0])
    chosen = Chosen(rows=[{}] * 5, true=np.array([0, 0, 0, 1, 1]), given=given, scores=scores)
    assert chosen.right.tolist() == [True, False, False, False, False]
    assert chosen.confidence.tolist() == [0.9, 0.6, 0.8, 0.5, 0.7]
    assert chosen.wrong.tolist() == [2, 4, 1, 3]
