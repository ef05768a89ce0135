"""Parsing: what each form means, and each refusal with its caret."""

from fractions import Fraction

import pytest

from coursekit.notation import NotationError
from coursekit.notation.parse.lexer import canonical
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show
from coursekit.notation.tree import (
    Add,
    Affine,
    Apply,
    Call,
    Concat,
    Div,
    Flatten,
    Lookup,
    Mul,
    Neg,
    Num,
    Position,
    Pow,
    Ref,
    Size,
    SizeOf,
    Softmax,
    Sum,
    index,
)


def right(text):
    return parse(text).equations[0].right


def ref(name, *indices):
    return Ref(name, tuple(i if isinstance(i, Affine) else index(i) for i in indices))


# ── capitals ─────────────────────────────────────────────────────────────────────────────────


def test_capital_is_summed_over_its_product():
    assert right("y[j] = W[j,I] x[I] + b[j]") == Add(
        (Sum(("I",), Mul((ref("W", "j", "I"), ref("x", "I")))), ref("b", "j"))
    )


def test_capital_in_one_factor_is_summed_over_the_innermost_product():
    assert right("y[b] = h[b,T] g[b]") == Sum(("T",), Mul((ref("h", "b", "T"), ref("g", "b"))))
    assert right("y = exp(a[I]) b") == Mul((Call("exp", (Sum(("I",), ref("a", "I")),)), ref("b")))


def test_capital_passes_through_brackets_and_functions_to_its_partner():
    inner = Add((ref("a", "I"), Neg(ref("b", "I"))))
    assert right("y = x[I] (a[I] - b[I])") == Sum(("I",), Mul((ref("x", "I"), inner)))
    assert right("y[j] = W[j,I] tanh(h[I])") == Sum(
        ("I",), Mul((ref("W", "j", "I"), Call("tanh", (ref("h", "I"),))))
    )


def test_power_is_a_product_of_the_base_with_itself():
    squared = Pow(Add((ref("a", "I"), Neg(ref("b", "I")))), Num(Fraction(2)))
    assert right("y = (a[I] - b[I])^2") == Sum(("I",), squared)


def test_brackets_around_a_product_do_not_end_the_sum():
    assert right("y = (a[I] b[I]) c[I]") == right("y = a[I] b[I] c[I]")


def test_separate_sums_of_one_capital_stay_separate():
    one = Call("tanh", (Sum(("I",), Mul((ref("a", "I"), ref("b", "I")))),))
    assert right("y = tanh(a[I] b[I]) tanh(a[I] b[I])") == Mul((one, one))


SAID_OTHERWISE = [
    ("y[w] = e[w,I]^T h[I]", "y[w] = e[w,I] h[I]"),  # a row is a vector as it is
    ("a[t,s] = exp(e[t,s])/sum_s' exp(e[t,s'])", "a[t,s] = exp(e[t,s])/sum[s'](exp(e[t,s']))"),
    ("d[i,j] = 1 + (a[i] != b[j])", "d[i,j] = 1 + [a[i] != b[j]]"),
    ("y[i] = (x[i] > 0) x[i]", "y[i] = [x[i] > 0] x[i]"),
    ("y[i] = x[i] * (i == 0)", "y[i] = x[i] * [i == 0]"),
    ("y = sum_i 1(x[i] > 0)", "y = sum[i](1 * [x[i] > 0])"),
    ("g[b,e] = x[b,:] . W[:,e]", "g[b,e] = x[b,I] W[I,e]"),
    ("y[j] = x[:,n[j]] @ v[:] + u[:] @ v[:]", "y[j] = x[I,n[j]] v[I] + u[K] v[K]"),
    ("m[i] = mean(x[b,i], b)", "m[i] = mean[b](x[b,i])"),
    ("y = sum(sum(x[i,j] w[j], j)^2, i)", "y = sum[i](sum[j](x[i,j] w[j])^2)"),
    ("y = sum(A[i,j], i, j)", "y = sum[i,j](A[i,j])"),
    ("y[t] = x[t] + 1 for all t", "y[t] = x[t] + 1"),
    ("y[t] = x[t] + 1 for each t >= 1", "y[t] = x[t] + 1"),
    ("y[t] = x[t] + 1 for t = 1..T", "y[t] = x[t] + 1"),
    ("y[t] = x[t] when t > 0 else 0", "y[t] = x[t] if t > 0 else 0"),
    ("h[t] = a[t] f[t] where f[t] = 1 - g[t]", "h[t] = a[t] f[t]\nf[t] = 1 - g[t]"),
    ("h[t] = x[t]; g[t] = 2 x[t]", "h[t] = x[t]\ng[t] = 2 x[t]"),
    ("Gate: g[t] = a[t] .* b[t]\nState: h[t] = g[t]", "g[t] = a[t] b[t]\nh[t] = g[t]"),
    ("y[i] = 1{x[i] > 0} x[i]", "y[i] = 1 * [x[i] > 0] x[i]"),
    ("y[i] = I(x[i] > 0) x[i]", "y[i] = 1 * [x[i] > 0] x[i]"),
    ("y[i] = |x[i]||z[i]|", "y[i] = abs(x[i]) abs(z[i])"),
    ("E = sum_{i<j} w[i,j] s[i] s[j]", "E = sum[i,j,i < j](w[i,j] s[i] s[j])"),
    ("y[j] = sum_{i != j} w[i,j]", "y[j] = sum[i != j](w[i,j])"),
]


@pytest.mark.parametrize(("text", "meant"), SAID_OTHERWISE)
def test_what_is_typed_freely_means_what_it_says(text, meant):
    assert show(parse(text)) == show(parse(meant))


def test_a_whole_axis_that_comes_last_need_not_be_written_where_shapes_are_known():
    shapes = {"x": ("b", "k"), "W": ("j", "k"), "y": ("b", "j")}
    assert show(parse("y[b,:] = W x[b,:]", shapes)) == show(parse("y[b] = W x[b]", shapes))


SIGNED = [
    ("y_hat = softmax(W h + b); l = -sum(y log(y_hat))", "yhat = softmax(W h + b)\nl = -sum(y log(yhat))"),
    ("a_norm = sqrt(sum_i b_i^2)\ny_i = b_i/a_norm", "a = sqrt(sum_i b_i^2)\ny_i = b_i/a"),
    ("l = 1/n sum_i (y_i - b_i)^2", "l = 1/N sum_i (y_i - b_i)^2"),
    (r"l = \frac{1}{n} \sum_i y_i", r"l = \frac{1}{N} \sum_i y_i"),
    ("y = tanh(U [b * y', h])", "y = tanh(U [b * y'; h])"),
    ("LN(b)_i = b_i - mean(b)", "LN_i = b_i - mean(b)"),
    ("y = f(W h + b), f = tanh", "y = tanh(W h + b)"),
    (r"y = f(b) \odot f'(y') \text{ where } f = \sigma", "y = sigmoid(b) * sigmoid'(y')"),
    ("LN(Q, K) = W h", "LN = W h"),
    (r"\mathrm{softmax}(b)_i = \frac{e^{b_i}}{\sum_j e^{b_j}}", "softmax[i] = exp(b_i)/sum_j exp(b_j)"),
    (r"\mathrm{softmax}_i(b) = \frac{e^{b_i}}{\sum_j e^{b_j}}", "softmax[i] = exp(b_i)/sum_j exp(b_j)"),
]


@pytest.mark.parametrize(("text", "meant"), SIGNED)
def test_what_is_typed_freely_is_read_by_the_shapes(text, meant):
    shapes = {"W": (3, 2), "U": (3, 5), "h": (2,), "b": (3,), "y": (3,), "y'": (3,), "l": (), "LN": (3,)}
    read, wanted = (show(parse(written, shapes)) for written in (text, meant))
    assert read.replace("y_hat", "yhat").replace("a_norm", "a") == wanted


def test_a_word_for_a_condition_may_be_a_name():
    assert show(parse("for[t] = when[t] + for[t-1]")) == "for[t] = when[t] + for[t-1]"


def test_capital_on_the_left_is_free():
    equation = parse("h[t,J] = G[t,J] * R[t,J]").equations[0]
    assert equation.left == ref("h", "t", "j")
    assert equation.right == Mul((ref("G", "t", "j"), ref("R", "t", "j")))


def test_left_capital_takes_another_name_where_its_own_is_used():
    equation = parse("y[J] = a[J] sum[j](b[j])").equations[0]
    assert equation.left == ref("y", "j'")
    assert equation.right == Mul((ref("a", "j'"), Sum(("j",), ref("b", "j"))))


def test_bare_capital_is_a_size_even_beside_the_same_index():
    found = right("a[t,s] = 1/sqrt(I) Q[t,I] K[s,I]")
    assert found == Sum(
        ("I",),
        Mul((Div(Num(Fraction(1)), Call("sqrt", (Size("I"),))), ref("Q", "t", "I"), ref("K", "s", "I"))),
    )


def test_letters_side_by_side_are_sizes_multiplied():
    found = right("y = 1/(KT) x[K,T]")
    assert found == Sum(
        ("K", "T"), Mul((Div(Num(Fraction(1)), Mul((Size("K"), Size("T")))), ref("x", "K", "T")))
    )


# ── indices ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "affine"),
    [
        ("t", index("t")),
        ("t-1", index("t", -1)),
        ("2*t+dt", Affine(((2, "t"), (1, "dt")))),
        ("2t+dt", Affine(((2, "t"), (1, "dt")))),
        ("2(t+dt)", Affine(((2, "t"), (2, "dt")))),
        ("T-1-t", Affine(((1, SizeOf("T")), (-1, "t")), -1)),
        ("t-t+1", Affine((), 1)),
        ("0", Affine(())),
        ("w[t]", Affine(((1, Lookup(ref("w", "t"))),))),
        ("w_t", Affine(((1, Lookup(ref("w", "t"))),))),
        ("w_{t+1}", Affine(((1, Lookup(ref("w", index("t", 1)))),))),
    ],
)
def test_index_expression(text, affine):
    assert right(f"y[t] = x[{text}] z[t]") == Mul((ref("x", affine), ref("z", "t")))


def test_capital_with_a_shift_is_an_index_where_it_also_stands_bare():
    assert right("y = dz[T] h[T-1]") == Sum(("T",), Mul((ref("dz", "T"), ref("h", index("T", -1)))))
    assert right("y = h[T-1]") == ref("h", Affine(((1, SizeOf("T")),), -1))


def test_subscripted_word_is_an_index_where_softmax_binds_it():
    found = parse("P[t,w_t] = softmax[w_t](e[w_t,I] h[t-1,I])").equations[0]
    assert found.left == ref("P", "t", "wt")
    assert isinstance(found.right, Softmax)
    assert found.right.indices == ("wt",)


def test_index_as_a_number():
    assert right("y[i,j] = i - j") == Add((Position(index("i")), Neg(Position(index("j")))))


def test_round_brackets_after_a_tensor_are_indices():
    assert right("a[t] = e(w_t)[I] h(t)[I]") == right("a[t] = e[w[t],I] h[t,I]")


def test_round_brackets_after_a_scalar_are_a_product():
    assert right("y[i] = c (x[i] + 1)") == Mul((ref("c"), Add((ref("x", "i"), Num(Fraction(1))))))


# ── operators ────────────────────────────────────────────────────────────────────────────────


def test_juxtaposition_binds_like_division_from_the_left():
    assert right("y = a/b c") == Mul((Div(ref("a"), ref("b")), ref("c")))
    assert right("y = 1/2 x") == Mul((Num(Fraction(1, 2)), ref("x")))


def test_minus_binds_looser_than_product():
    assert right("y = -a b") == Neg(Mul((ref("a"), ref("b"))))
    assert right("y = a * -b") == Mul((ref("a"), Neg(ref("b"))))


def test_softmax_without_brackets_takes_the_whole_sum():
    assert right("y[w] = softmax[w] a[w] + b[w]") == right("y[w] = softmax[w](a[w] + b[w])")


def test_big_sum_takes_its_product():
    assert right(r"y = \sum_i a[i] b[i] + c") == right("y = sum[i](a[i] b[i]) + c")


def test_sum_in_brackets_ends_with_them():
    assert right("y = sum[i](a[i]) b") == Mul((Sum(("i",), ref("a", "i")), ref("b")))


def test_opaque_function_takes_slices():
    found = right("h[t,J] = CELL(h[t-1,J], x[t,K])")
    assert isinstance(found, Apply)
    assert found.slices == (("J",), ("K",))
    assert found.out == ("j",)


def test_concatenation_finds_its_axis():
    assert right("c[t,C] = a[t,I]; b[t,K]") == Concat(
        "c", (("I", ref("a", "t", "I")), ("K", ref("b", "t", "K")))
    )
    assert right("c[t,c] = a[t,i]; b[t,k]") == Concat(
        "c", (("i", ref("a", "t", "i")), ("k", ref("b", "t", "k")))
    )


def test_dots_lay_heads_end_to_end():
    found = right("c[t,C] = h[0,t,I]; ...; h[K-1,t,I]")
    assert found == Flatten("c", ("K", "I"), ref("h", "K", "t", "I"))


def test_last_member_of_a_chain_defines():
    assert parse("y = a b = c").equations[0].right == ref("c")


def test_line_goes_on_inside_brackets_and_before_an_equals_sign():
    assert parse("y = sigmoid(a +\n b)\nz = y") == parse("y = sigmoid(a + b)\nz = y")
    assert parse("y\n = a") == parse("y = a")


def test_line_goes_on_after_a_sign_and_before_one():
    for text in ("y = a +\n  b - c", "y = a\n  + b\n  - c", "y =\n  a + b - c", "y = a + b \\\\\n - c"):
        assert parse(text) == parse("y = a + b - c")
    assert parse("y = a *\n b\n / c") == parse("y = a * b / c")


def test_blanks_of_any_alphabet_are_blanks():
    assert parse("y\u2009=\u202fa\u200b +\u3000b\ufeff") == parse("y = a + b")
    assert parse("\to[t] = g[t]\n\tu[t] = o[t]\r\n") == parse("o[t] = g[t]\nu[t] = o[t]")


def test_definition_sign_is_an_equals_sign():
    assert parse("y := a") == parse("y = a")


def test_comments_are_left_out():
    assert parse("# the cell\ny = a  % more") == parse("y = a")


def test_unicode_letters_are_read():
    assert parse("α[t] = σ(W[t] ⊙ x[t]) − ∑_i z[i] · q[i]") == parse(
        "alpha[t] = sigmoid(W[t] x[t]) - sum[i](z[i] q[i])"
    )


# ── names ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("W^{h,G}", "W_hG"), ("W_{h,G}", "W_hG"), ("W_hG", "W_hG"), ("W^hG", "W_hG"), (r"W^{h, G}", "W_hG"),
        ("W^{h,G_1}", "W_hG1"), (r"W_{\ell+1}^{L,R}", "W_LR_{l+1}"), (r"W^{L,R}_{\ell+1}", "W_LR_{l+1}"),
        (r"L_\ell", "L_l"), (r"L_{\ell+1}", "L_{l+1}"), (r"\tilde{h}", "h_tilde"), (r"\tilde h", "h_tilde"),
        (r"\vec{h}", "h_vec"), (r"\hat{y}", "y_hat"), (r"\bar{x}", "x_bar"), (r"\overleftarrow{h}", "h_leftarrow"),
        (r"\tilde{h}_{\ell+1}", "h_tilde_{l+1}"), (r"\alpha", "alpha"), (r"\text{Query}", "Query"),
        (r"\operatorname{Key}", "Key"), (r"\mathbf{W}_1", "W_1"), (r"\mathcal{L}_{\text{LM}}", "L_LM"),
        ("h'", "h'"), ("h''", "h''"), (r"W.\text{grad}", "W_grad"), ("α", "alpha"), ("h_tilde", "h_tilde"),
        (r"\frac{\partial J}{\partial W}", "dJ_dW"),
    ],
)  # fmt: skip
def test_name_has_one_spelling(written, name):
    assert canonical(written) == name
    assert canonical(name) == name


@pytest.mark.parametrize("text", ["", "a b", "a[i]", "2", "a =", "(a)", "\\"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(NotationError):
        canonical(text)


# ── refusals: the message and the caret ──────────────────────────────────────────────────────

REFUSALS = [
    ("y[i] = x[i] ? 2", "`?` is no part of the language", 1, 13),
    ("y[i] = (x[i] + 2", "`(` is never closed: `)` is missing", 1, 8),
    ("y = [a[I]; b[J]] + W[i][j]", "write it in one pair of brackets: `W[i,j]`", 1, 24),
    ("y[i] = x[i + 2", "`[` is never closed: `]` is missing", 1, 9),
    ("y[i] = (x[i] + 2]", "`(` is never closed: `)` is missing before `]`", 1, 8),
    ("y[i] = x[i] + 2)", "`)` closes nothing", 1, 16),
    ("z = a\ny[i] = (x[i]\nq = b", "`(` is never closed: `)` is missing", 2, 8),
    ("y[i] = x[i] +", "the equation breaks off after `+`", 1, 13),
    ("y[i] = x[i] + * 2", "something is missing between `+` and `*`", 1, 15),
    ("y[i] = sigmod(x[i])", "the function `sigmod` is not defined; did you mean `sigmoid`?", 1, 8),
    ("y[i] = foo(x[i] + 1)", "the function `foo` is not defined; write `foo * (…)` for a product", 1, 8),
    ("y[i]", "this is not an equation: `=` is missing", 1, 4),
    ("", "there is no equation here", 1, 1),
    ("y[i] + 1 = x[i]", "the left side must be one tensor", 1, 1),
    ("2 = x", "the left side must be one tensor", 1, 1),
    ("= x", "the left side of `=` is missing", 1, 1),
    ("y[i] = x[i*j]", "an index may be multiplied by a number only", 1, 10),
    ("y[i] = x[1.5]", "an index must be a whole number", 1, 10),
    ("y[i] = x[exp(i)]", "an index is a name, a sum such as `t-1`", 1, 10),
    ("y[i] = sigmoid(x[i], 2)", "`sigmoid` takes one argument, you wrote 2", 1, 8),
    ("y[i] = max(x[i])", "`max` needs two arguments", 1, 8),
    ("y = sum(x[I])", "`sum` needs its index: `sum[i](…)`", 1, 5),
    ("y = sum[2](x)", "an index name must stand here", 1, 9),
    ("y = sum[i,i](x[i])", "an index is bound twice here", 1, 9),
    ("y = x_1 + ... + x_n", "dots cannot be run; write a sum", 1, 11),
    ("y[i] = cases(a if i == 1)", "cases end with `otherwise`", 1, 14),
    ("y[i] = cases(a otherwise, b if i == 1)", "`otherwise` must be the last case", 1, 14),
    ("c[t] = a[t]; b[t]", "a concatenation needs one index along each part", 1, 8),
    ("c[t,C] = a[0,t,I]; ...", "dots stand between the first and the last part", 1, 10),
    (r"y = \foo{x}", r"the command `\foo` is not known", 1, 5),
    (r"y = \begin{pmatrix} 1 \end{pmatrix}", "a matrix is written entry by entry", 1, 5),
    (r"y = \frac{a", "`{` is never closed: `}` is missing", 1, 10),
    ("y = x_", "a subscript is missing after `_`", 1, 6),
    ("pad 3", "after `pad` comes a list of names", 1, 5),
    ("pad L,", "after `pad` comes a list of names", 1, 6),
    ("size t", "`size` is written `size t = 5`", 1, 1),
    ("W in X", "after `in` comes a shape", 1, 3),
    ("y = a < b", "`<` was not expected here", 1, 7),
    ("h^2", "this is not an equation: `=` is missing", 1, 1),
    ("y[j] = sum(W[j,i] x[i], 2)", "`sum` takes its index in square brackets: `sum[i](…)`", 1, 8),
    ("h[b,:] = x[b,:]", "`:` is a whole axis: give it an index, `x[b,i]`", 1, 5),
    ("y[i] == x[i]", "an equation is written with `=`", 1, 6),
    ("y = a, b", "one equation stands on a line", 1, 6),
    ("y[t] = x[t] if t > 0", "what is it otherwise? Write `a if t > 0 else b`", 1, 13),
    ("y[i] = f(x = 2)", "a condition cannot stand here", 1, 10),
    ("y = a +\nz = b", "the equation breaks off after `+`", 1, 7),
    ("y = \u0445[I] z[I]", "`\u0445` (cyrillic small letter ha) is no part of the language", 1, 5),
    ("y[b\uff0ck] = x[b,k]", "`\uff0c` (fullwidth comma) is no part of the language; write `,`", 1, 4),
    (
        "y = \frac{a}{b}",
        r"Python has read the `\f` of `\frac` as one character; put an r before the quotes",
        1,
        5,
    ),
    ("y = 2 \tanh(x)", r"the `\t` of `\tanh`", 1, 7),
    ("y = \x08eta[I]", r"the `\b` of `\beta`", 1, 5),
    ("a = b\ny = \x07lpha", r"the `\a` of `\alpha`", 2, 5),
    ("y = \rho x", r"the `\r` of `\rho`", 1, 5),
    (r"y = \Sum_i x[i]", r"the command `\Sum` is not known; did you mean `\sum`?", 1, 5),
    (r"y = \simga(x)", r"the command `\simga` is not known; did you mean `\sigma`?", 1, 5),
]


@pytest.mark.parametrize(("text", "message", "line", "column"), REFUSALS)
def test_refusal_names_the_place(text, message, line, column):
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_error_shows_what_cannot_be_printed_as_a_blank():
    with pytest.raises(NotationError) as caught:
        parse("a = b\ny = \frac{a}{b}")
    assert str(caught.value).splitlines()[1:] == ["    y =  rac{a}{b}", "        ^^^^"]


def test_error_shows_the_line_and_a_caret():
    with pytest.raises(NotationError) as caught:
        parse("z = a\ny[i] = (x[i] + 2")
    assert str(caught.value) == (
        "line 2: `(` is never closed: `)` is missing\n    y[i] = (x[i] + 2\n           ^"
    )


# ── limits ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = " + "x + " * 6000 + "x", "at most 20000 are read"),
        ("y = " + "(" * 50 + "x" + ")" * 50, "brackets are nested more than 40 deep"),
        ("y = " + "sigmoid(" * 50 + "x" + ")" * 50, "brackets are nested more than 40 deep"),
        ("y = 1" + "/x" * 3000, "nested more than 60 deep"),
        ("y = " + "-(" * 39 + "x" + ")" * 39, ""),
        ("y = " + "x * -" * 500 + "x", ""),
        ("y = x * " + "-" * 500 + "x", "nested more than 60 deep"),
        ("\n".join(f"y{k} = x" for k in range(300)), "more than 200 statements"),
        ("y = x[" + ",".join("abcdefghijklmnop") + "]", "at most 12 are allowed"),
        (r"y = \frac" + "{1}{" * 60 + "x" + "}" * 60, "deep"),
        (r"y = " + r"\sqrt{" * 60 + "x" + "}" * 60, "deep"),
        ("y = " + "exp " * 300 + "x", "deep"),
        ("y = x" + "_a" * 3000, "a name has at most 8 sub- and superscripts"),
        ("y = x[" + "t+" * 3000 + "t]", ""),
        ("y = " + "a[I] (b + " * 18 + "c[I]" + ")" * 18, ""),
        ("y = " + "a[I]/(b[I] " * 18 + "c[I]" + ")" * 18, ""),
        ("y = " + "(c[I] (" * 9 + "a[I]" + ")^2)^2" * 9, ""),
        ("y[t] = " + "x[w[" * 19 + "t" + "]]" * 19, ""),
    ],
)
def test_limits_are_met_with_a_sentence(text, message):
    try:
        parse(text)
    except NotationError as refusal:
        assert message in refusal.message  # noqa: PT017
    else:
        assert not message


def test_what_is_not_text_is_refused():
    with pytest.raises(NotationError, match="equations are text, you gave int"):
        parse(3)  # type: ignore[arg-type]


def test_a_tensor_that_is_also_an_index_is_compared_by_its_values():
    """`F` is a summed index of W_2 and a tensor too; with brackets it is the tensor."""
    program = parse("z[t,j] = W_2[j,F] F[t,F]\ny[t,f] = [F[t,f] > 0] x[t,f]")
    condition = program.equations[1].right.factors[0].condition
    assert condition.left == Ref("F", (index("t"), index("f")))
    assert parse("y[t] = [w[t] == v] x[v]").equations[0].right.factors[0].condition.left == Ref(
        "w", (index("t"),)
    )


@pytest.mark.parametrize(
    "text",
    [
        "size t = a",
        "size t = 1.5",
        "size t = 3, 4",
        "size t =",
        "shape W = *, +",
        "shape W = n,",
        "shape W = n m",
    ],
)
def test_a_size_or_shape_that_is_none_is_refused(text):
    with pytest.raises(NotationError, match=r"is written `(size t = 5|shape W = n, m)`"):
        parse(f"{text}\ny[t] = W[t]")


def test_both_forms_of_a_shape_are_one():
    one, other = (
        parse(f"{line}\ny[k,i] = W[k,i,J] x[J]") for line in ("shape W = K, I, J", "W in R^{K x I x J}")
    )
    assert one == other
