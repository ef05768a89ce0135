"""`checks.derivation`: each line earns its part, and a wrong one hears which it is."""

import pytest

from coursekit import checks

SOFTMAX = "p[j] = softmax[j](z[j])\nJ = -sum[j](y[j] log(p[j]))\ndistribution y"
RIGHT = """
dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i])
         = sum[j](-y[j] ([i == j] - p[i]))
         = p[i] - y[i]
"""
ASKED = {"derives": ["dJ/dz[i]"], "using": ["p", "y"], "known": RIGHT}


def asked(answer):
    return checks.derivation(answer, SOFTMAX, **ASKED)


def test_a_right_derivation_earns_everything():
    result = asked(RIGHT)
    assert result.ok
    assert list(result.parts) == ["line 2", "line 3", "line 4", "dJ/dz[i]"]
    assert result.score(4) == 4


def test_a_wrong_line_loses_its_part_and_is_told_why(capsys):
    result = asked(RIGHT.replace("- p[i])", "+ p[i])"))
    assert [name for name, part in result.parts.items() if not part.ok] == ["line 3"]
    assert "Line 3" in result.sentence
    assert "sign" in result.kind
    assert result.score(4) == 3
    assert "✗ 3: sum[j]" in str(result)


def test_what_the_known_derivation_tells_stays_in_the_notebook():
    result = asked("dJ/dz[i] = p[i] + y[i]")
    assert "subtracted" in result.sentence
    assert result.own == "Line 1: This does not follow from the line before."


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("", "empty", "no answer"),
        (3, "type", "as text"),
        ("dJ/dp[j] = -y[j]/p[j]", "missing", "`dJ/dz[i]` is not derived"),
        ("dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i])", "unfinished", "`dJ/dp[j]` and `dp[j]/dz[i]` still"),
        ("dJ/dz[i]", "notation", "no `=`"),
        ("dJ/dz[i] = p[i] - (y[i]", "unreadable", "Line 1"),
        ("dJ/dz[i] = dJ/dz[i]", "unfinished", "not at its end"),
    ],
)
def test_what_is_no_whole_derivation_is_told_what_is_missing(answer, kind, words):
    result = asked(answer)
    assert not result.ok
    assert result.kind == kind
    assert words in result.sentence


def test_a_mistake_is_recognised_by_what_its_line_says():
    made = checks.Mistake("plus", "You turned a sign.", RIGHT.replace("p[i] - y[i]", "p[i] + y[i]"))
    other = "dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i])\n = 2 y[i] + p[i] - y[i]"
    result = checks.derivation(other, SOFTMAX, **ASKED, mistakes=[made])
    assert (result.mistake, result.sentence) == ("plus", "You turned a sign.")
    assert checks.derivation(RIGHT.replace("- p[i])", "+ p[i])"), SOFTMAX, mistakes=[made]).mistake == ""


def test_a_wrong_line_is_a_key_however_it_is_written():
    one = asked(RIGHT.replace("p[i] - y[i]", "p[i] + y[i]")).parts["line 4"].outcomes
    two = asked("dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i])\n = 2 y[i] + p[i] - y[i]").parts["line 2"].outcomes
    assert one[0].text == two[0].text == "dJ/dz[i]"
    assert one[0].numbers == pytest.approx(two[0].numbers)


def test_a_result_without_steps_is_no_derivation():
    result = checks.derivation(
        "dJ/dz[i] = p[i] - y[i]", SOFTMAX, derives=["dJ/dz[i]"], using=["p", "y"], steps=3
    )
    assert result.kind == "steps"
    assert result.score(4) < 2


def test_lines_that_go_nowhere_earn_no_more_than_half():
    still = "dJ/dz[i] = dJ/dz[i] + 0\n = 2 dJ/dz[i] - dJ/dz[i]"
    with pytest.raises(checks.CheckFailed, match="not at its end"):
        asked(still).score(4)
    chain = "sum[j](dJ/dp[j] dp[j]/dz[i])"
    assert asked(f"dJ/dz[i] = {chain}\n = {chain} + 0\n = 0 + {chain} + 0").score(4) == 2
