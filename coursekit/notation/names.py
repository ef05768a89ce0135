"""Names: one ASCII spelling for each tensor and each index, however it is written.

    W^{h,G}  W_{h,G}  W_hG      ->  W_hG          \\tilde{h}   ->  h_tilde
    W_{\\ell+1}^{L,R}            ->  W_LR_{l+1}    G_1         ->  G_1

Superscripts come before subscripts, so that the order of writing does not matter; commas, braces and
spaces inside them are dropped; one with arithmetic keeps its braces and comes last.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

GREEK = frozenset(
    (
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho "
        "varrho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi "
        "Psi Omega partial"
    ).split()
)

# Greek and other letters of names as they may be typed.
LETTERS = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho",
    "σ": "sigma", "τ": "tau", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "∆": "Delta", "Θ": "Theta", "Λ": "Lambda", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
    "∂": "partial", "∇": "nabla",
}  # fmt: skip

ACCENTS = {
    "tilde": "tilde", "widetilde": "tilde", "hat": "hat", "widehat": "hat", "bar": "bar",
    "overline": "bar", "vec": "vec", "overrightarrow": "vec", "overleftarrow": "leftarrow", "dot": "dot",
    "ddot": "ddot", "check": "check", "breve": "breve", "underline": "under", "acute": "acute",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """One sub- or superscript: its items as they stand between commas (`t-1`, `h`, `G1`).

    `round` tells `h^{(t)}` from `h^{t}`; `place` is where the script stands in the text, should it be an index;
    `name_like` is false where it can be no part of a name (`2(t-1)`).
    """

    items: tuple[str, ...]
    round: bool = False
    place: tuple[int, int] = field(default=(0, 0), compare=False)
    name_like: bool = True
    word: bool = False  # set upright, as words are: never an index

    @property
    def arithmetic(self) -> bool:
        return any("+" in item or "-" in item for item in self.items)

    @property
    def text(self) -> str:
        if self.arithmetic:
            return "{" + ",".join(self.items) + "}"
        return "".join(self.items).replace("_", "")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in its parts. `opaque` marks a subscript Φ (`CELL_Φ`), `transposed` a superscript ⊤."""

    base: str
    accents: tuple[str, ...] = ()
    sups: tuple[Group, ...] = ()
    subs: tuple[Group, ...] = ()
    primes: int = 0
    transposed: bool = False
    opaque: bool = False
    text_word: bool = False  # written as \text{…}: never a product of letters

    @property
    def groups(self) -> tuple[Group, ...]:
        both = self.sups + self.subs
        return tuple(g for g in both if not g.arithmetic) + tuple(g for g in both if g.arithmetic)

    @property
    def text(self) -> str:
        """The canonical ASCII spelling as a tensor's name."""
        if not (self.accents or self.sups or self.subs):  # most names, without looking further
            return self.base + "'" * self.primes
        parts = [self.base, *self.accents, *(g.text for g in self.groups)]
        return "_".join(p for p in parts if p) + "'" * self.primes

    @property
    def index(self) -> str:
        """The spelling as an index: `t_1` is `t1`, `w_{t+1}` is `wtp1`."""
        parts = "".join([self.base, *self.accents, *(g.text.strip("{}") for g in self.groups)])
        return parts.replace("+", "p").replace("-", "m").replace(",", "") + "'" * self.primes

    @property
    def capital(self) -> bool:
        return self.base[:1].isupper() and self.base not in GREEK

    @property
    def plain(self) -> bool:
        """Only a base: no accents, no groups, no primes."""
        return not (self.accents or self.sups or self.subs or self.primes or self.transposed)

    def without(self, group: Group) -> "Name":
        """The name with one group taken off (once it is known to be an index)."""
        sups, subs = (tuple(g for g in groups if g is not group) for groups in (self.sups, self.subs))
        return replace(self, sups=sups, subs=subs)

    def __str__(self) -> str:
        return self.text


def capital_of(index: str) -> str:
    """The dimension that is named after an index: `t1` -> `T1`."""
    return index[:1].upper() + index[1:]


def small_of(index: str) -> str:
    return index[:1].lower() + index[1:]


def fresh(name: str, taken: Collection[str]) -> str:
    """The name, with as many primes as keep it apart from those that are taken."""
    while name in taken:
        name += "'"
    return name


def joined(above: str, rank: int, below: str) -> str:
    """The name of the derivative of one tensor by another, whose first `rank` indices are those of `above`."""
    return f"{above}|{rank}|{below}"


def halves(name: str) -> tuple[str, int, str] | None:
    """What `joined` was given."""
    if "|" not in name:
        return None
    above, rank, below = name.split("|")[:3]
    return above, int(rank), below
