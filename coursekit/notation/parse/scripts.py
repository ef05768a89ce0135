"""Sub- and superscripts: which are part of a name, which are indices, which are powers.

With a signature (`signature.Signature`) the page is read as it is printed: `W^{hh}_{ji}` is the entry `[j,i]` of the
`W_hh` that is given with two axes. Without one, a script is part of the name unless its letters are seen to be
indices: a sum runs over them (`\\sum_l x_l W_{lk}`), they are shifted (`h_{t-1}`), or stand in round brackets
(`h^{(t)}`). What is an index leaves the name and stands between LSUB and RSUB, for the grammar.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from lark import Token

from ..errors import NotationError
from ..names import GREEK, Group, Name, capital_of, small_of
from .brackets import pair
from .facts import ATOM, depths, letters_in, made_of, survey
from .latex_reader import LatexReader
from .lexer import Signature
from .scanner import split_commas
from .symbols import MOMENTS
from .tokens import Tokens, as_, closing, count, kind_at, level, refuse, split

Pair = tuple[Group, bool]  # the indices of one script, and whether they stand letter by letter


@dataclass(frozen=True)
class Reading:
    """A name as it is read: what is left of it, its indices (each group, and whether letter by letter), its powers."""

    name: Name
    indices: tuple[Pair, ...] = ()
    powers: tuple[Group, ...] = ()
    order: tuple[int, ...] = ()  # of the indices, where it is not that of writing


class Scripts:
    """The statements of one text, their scripts resolved."""

    def __init__(self, statements: list[Tokens], text: str, signature: Signature, declared: set[str]) -> None:
        self.text = text
        self.signature = signature
        self.reader = LatexReader(text)
        self.reader.defined.update(signature.ranks)
        statements = [self.rooted(tokens, statements) for tokens in map(families, statements)]
        statements = [laid(tokens, signature) for tokens in statements] if signature else statements
        self.seen = survey(statements)
        self.led: set[str] = set()  # the indices of the left side of the statement that is read
        self.bases = {n.base for n in self.seen.lefts}
        signature.defined = {n.text for n in self.seen.lefts} | self.bases
        accents = {(n.base, n.accents) for n in self.seen.names}
        bases = [base for base, _ in accents]
        signature.dressed = {base for base, worn in accents if worn and bases.count(base) == 1}
        if signature:
            self.learn()
            statements = self.functions(statements)
        elif not self.seen.tensors:
            for tokens in statements:
                if tokens[0].type != "NAME" or tokens[0].value.text not in declared:
                    self.decide(tokens)
        self.statements = [self.lead(tokens) for tokens in statements]

    def rooted(self, tokens: Tokens, statements: list[Tokens]) -> Tokens:
        """`\\sigma^2 = …` as `\\sigma = \\sqrt{…}`, where 2 is no number of a layer."""
        name = tokens[0].value
        if [t.type for t in tokens[:2]] != ["NAME", "_EQ"] or self.signature.find(name):
            return tokens
        square = next((g for g in name.sups if g.items == ("2",) and not g.round), None)
        others = [t.value for s in statements for t in s if t.type == "NAME" and t.value.base == name.base]
        if square is None or any(g.items in (("0",), ("1",), ("3",)) for n in others for g in n.sups):
            return tokens
        opened = [as_("SQRT", tokens[1], "sqrt"), as_("LBRACE", tokens[1], "{")]
        left = as_("NAME", tokens[0], name.without(square))
        return [left, tokens[1], *opened, *tokens[2:], as_("RBRACE", tokens[-1], "}")]

    def functions(self, statements: list[Tokens]) -> list[Tokens]:
        """`F(x) = …` of tensors that are given is a tensor F, and `score(h_t, g_s)` the entry `score[t,s]`."""
        defining = (s for s in statements if self.given(s, 0))
        heads = {s[0].value.text for s in defining if s[closing(s, 1) + 1].type in ("_EQ", "LENTRY")}
        return [self.applied(tokens, heads) for tokens in statements] if heads else statements

    def given(self, tokens: Tokens, k: int) -> list[Reading] | None:
        """The arguments of the name at `k`, if all of them are tensors that are known."""
        if tokens[k].type != "NAME" or kind_at(tokens, k + 1) != "LPAR":
            return None
        stop = closing(tokens, k + 1)
        inside = tokens[k + 2 : stop]
        names = inside[::2]
        if [t.type for t in inside] != ["NAME", *["COMMA", "NAME"] * (len(names) - 1)]:
            return None
        found = [reading for t in names if (reading := self.signed(t.value, 0))]
        known = self.signature.find(tokens[k].value)
        filled = sum(self.width(*pair) for reading in found for pair in reading.indices)
        own = known is None or 0 < filled == self.signature.ranks[known]  # FL(p_i) is the entry FL[i]
        own |= not filled and kind_at(tokens, stop + 1) == "LENTRY"  # LN(x)_i
        return found if len(found) == len(names) and own else None

    def applied(self, tokens: Tokens, heads: set[str]) -> Tokens:
        out: Tokens = []
        k = 0
        while k < len(tokens):
            token, k = tokens[k], k + 1
            out.append(token)
            used = token.type == "NAME" and token.value.text in heads
            if not used or (arguments := self.given(tokens, k - 1)) is None:
                continue
            if groups := [pair for reading in arguments for pair in reading.indices]:
                self.bracketed("SQ", groups, token, out)
            k = closing(tokens, k) + 1
            if kind_at(tokens, k) == "LENTRY":  # H(x)_i
                stop = next(n for n in range(k, len(tokens)) if tokens[n].type == "RENTRY")
                inside = self.statement(tokens[k + 1 : stop])
                out += [as_("LSUB", tokens[k]), *inside, as_("RSUB", tokens[stop])]
                k = stop + 1
        return out

    def learn(self) -> None:
        """The letters that stand as indices of tensors whose axes are known are indices everywhere."""
        self.seen.time |= {i for i in self.seen.bound | self.seen.indices if len(i) == 1 and i.islower()}
        above = [g for n in self.seen.names if n.base == "e" for g in n.sups]  # the z_i of e^{z_i}
        for name in (*self.seen.names, *(t.value for g in above for t in self.scan(g) if t.type == "NAME")):
            reading = self.signed(name, 0)
            for group, apart in reading.indices if reading else ():
                for item in group.items:
                    self.seen.time |= set(item) if apart and item.isalpha() else set(ATOM.findall(item))
        for left in self.seen.lefts:
            raised = [letters_in(group) for group in left.sups]
            if any(a and a <= self.seen.time for a in raised) and not self.signature.find(left):
                same = [g for n in self.seen.names if n.base == left.base for g in n.sups]
                self.seen.raised[left.base] = {c for g in same for c in letters_in(g)}

    def decide(self, tokens: Tokens) -> None:
        """In `y_i = f(x_i)` nothing tells whether i is an index or part of two names."""
        first = tokens[0]
        for group in first.value.subs if first.type == "NAME" else ():
            doubt = letters_in(group) - self.seen.time - {"l"}
            others = [g for n in self.seen.names if n is not first.value for g in n.subs]
            if not doubt or not any(doubt & letters_in(g) for g in others):
                continue
            if not self.seen.time:
                raise self.show_both(first, sorted(doubt))
            self.seen.time |= doubt  # other subscripts of this text are indices

    def show_both(self, token: Token, letters: list[str]) -> NotationError:
        spelt, core = ",".join(letters), token.value.base
        message = f"is `{spelt}` an index of `{core}`, written `{core}[{spelt}]`, or part of its name, "
        message += f"written `{core}_{{\\text{{{''.join(letters)}}}}}`?"
        group = r"_(?:\{\s*([a-z](?:\s*,?\s*[a-z])*'?)\s*\}|([a-z]'?)(?![A-Za-z]))"

        def written(pattern: str, join: str) -> str:
            def one(m: re.Match[str]) -> str:
                own = re.findall(r"[a-z]'?", m.group(1) or m.group(2))
                return pattern % join.join(own) if set(own) & set(letters) else m.group()

            return re.sub(group, one, self.text)

        repairs = (written("[%s]", ","), written("_{\\text{%s}}", ""))
        return refuse(message, self.text, token, repairs)

    def lead(self, tokens: Tokens) -> Tokens:
        """A whole statement, whose left side tells some of its indices."""
        first, self.led = tokens[0].value, set()
        reading = self.signed(first, 0) if isinstance(first, Name) else None
        self.led = set(self.first(list(reading.indices))) if reading else set()
        inside = tokens[2 : closing(tokens, 1)] if kind_at(tokens, 1) in ("LSQ", "LPAR") else []
        self.led |= {t.value.index for t in inside if t.type == "NAME"}
        return self.statement(tokens)

    def statement(self, tokens: Tokens) -> Tokens:
        if not self.signature and all(t.type != "NAME" or t.value.plain for t in tokens):
            return tokens
        out: Tokens = []
        contexts = [inside for _, _, inside in depths(tokens)]
        k = 0
        while k < len(tokens):
            token, bound = tokens[k], contexts[k] == "bound"
            if (bound or kind_at(tokens, k - 1) == "LENTRY") and self.several(token):  # sum_ij, (A B)_{ij}
                out += self.letters([token])
            elif token.type != "NAME" or (bound and not self.compared(tokens, k)):
                out.append(token)
            else:
                k = self.name(tokens, k, contexts[k] == "index", out)
                continue
            k += 1
        return out

    def several(self, token: Token) -> bool:
        """Are the letters below a sum indices one by one, as in `sum_ij c_ij`?"""
        if token.type != "NAME" or not token.value.plain or not 1 < len(token.value.base) < 5:
            return False
        word = token.value.base
        return word not in self.seen.indices and set(word) <= self.seen.indices | self.seen.time

    def compared(self, tokens: Tokens, k: int) -> bool:
        """Is it the w_s of `\\sum_{s: w_s = v}`, an entry of a tensor that is given?"""
        beside = {t.type for t in (tokens[k - 1], tokens[k + 1])} & {"EQ", "CMP"}
        reading = self.signed(tokens[k].value, 0) if beside and not tokens[k].value.plain else None
        return reading is not None and bool(reading.indices) and not self.rows([tokens[k]])

    def name(self, tokens: Tokens, k: int, inside: bool, out: Tokens) -> int:
        """Emit the name at `k`, its indices, its square brackets and its powers; return what comes next."""
        token = tokens[k]
        square = kind_at(tokens, k + 1) == "LSQ"
        stop = closing(tokens, k + 1) if square else k
        # W [h_{t-1}, x_t]: vectors laid end to end
        if square and (self.lays(tokens[k + 1 : stop]) or self.factor(token.value, tokens[k + 2 : stop])):
            tokens[k + 1] = as_("LGRP", tokens[k + 1], "[")
            tokens[stop] = as_("RGRP", tokens[stop], "]")
            square, stop = False, k
        own = self.signature.find(token.value) or token.value.base in self.bases
        if square and not own and token.value.base in MOMENTS and self.rows(tokens[k + 2 : stop]):
            word = as_("REDUCER", token, MOMENTS[token.value.base])
            body = self.statement(tokens[k + 2 : stop])
            out += [word, as_("LPAR", tokens[k + 1], "("), *body, as_("RPAR", tokens[stop], ")")]
            return stop + 1
        entries = count(tokens[k + 2 : stop]) if square else 0
        if parts := self.signature.split(token.value) if not square else None:
            for part in parts:
                self.name([as_("NAME", token, part)], 0, inside, out)
            return k + 1
        name: Name = token.value
        whole = not name.plain and name.index in self.seen.bound  # the w_t of a softmax over w_t
        reading = Reading(name) if whole else self.signed(name, entries)
        several = reading is None and any(len(g.items) > 1 for g in name.subs)
        if several and (known := self.signature.find(Name(name.base, name.accents, primes=name.primes))):
            rank = self.signature.ranks[known]
            axes = "axis" if rank == 1 else "axes"
            raise refuse(f"`{known}` has {rank} {axes}, not these", self.text, token)
        if reading is None:
            reading = Reading(name) if inside else self.unsigned(token, square)
        for group in (*reading.name.sups, *reading.name.subs):
            if not group.name_like:
                raise refuse(f"`{self.written(group)}` cannot be read as part of a name", self.text, token)
        out.append(as_("NAME", token, reading.name))
        if reading.indices:
            self.bracketed("SUB", reading.indices, token, out, reading.order)
        if square and not (reading.powers and token.value.base == "e" and not reading.indices):
            out += self.statement(tokens[k + 1 : stop + 1])
            k = stop
        for group in reading.powers:
            out.append(as_("CARET", token, "^"))
            self.bracketed("BRACE", ((group, False),), token, out)
            if square and k != stop:  # e^x[i]: the brackets are the exponent's
                out[-1:] = [*self.statement(tokens[k + 1 : stop + 1]), out[-1]]
                k = stop
        return k + 1

    def lays(self, inside: Tokens) -> bool:
        """Are these no indices, but vectors laid end to end?"""
        spaced = self.text[: inside[0].start_pos].endswith(" ")  # W [r * h, x]
        parts = split(inside[1:])
        shown = self.rows([t for t in inside if t.type == "NAME" and not t.value.plain])
        return len(parts) > 1 and (shown or (spaced and all(map(self.rows, parts))))

    def factor(self, name: Name, inside: Tokens) -> bool:
        """Is `[1 - w_i e_j]` after `M_{ij}` a factor, since the scripts name all axes of M?"""
        reading = self.signed(name, 0)
        if reading is None or not {"PLUS", "MINUS"} & {t.type for t in inside}:
            return False
        filled = sum(self.width(*pair) for pair in reading.indices) == self.signature.ranks[reading.name.text]
        found = ((k, self.signed(t.value, 0)) for k, t in enumerate(inside) if t.type == "NAME")
        return filled and any(r and (r.indices or kind_at(inside, k + 1) == "LSQ") for k, r in found)

    def rows(self, inside: Tokens) -> bool:
        """Is one of these a tensor of which axes are left?"""
        for token in inside:
            if token.type == "NAME" and (reading := self.signed(token.value, 0)):
                filled = sum(self.width(*pair) for pair in reading.indices)
                if filled < self.signature.ranks[reading.name.text]:
                    return True
        return False

    def bracketed(
        self, kind: str, groups: Iterable[Pair], near: Token, out: Tokens, order: tuple[int, ...] = ()
    ) -> None:
        """Emit groups of indices or a power in brackets: `SQ`, `SUB`, `BRACE`."""
        entries: list[Tokens] = []
        for group, apart in groups:
            inner = self.scan(group)
            entries += split(self.letters(inner) if apart else self.statement(inner))
        out.append(as_(f"L{kind}", near, "["))
        for number, entry in enumerate([entries[k] for k in order] or entries):
            out += [as_("COMMA", near, ","), *entry] if number else entry
        out.append(as_(f"R{kind}", near, "]"))

    def scan(self, group: Group) -> Tokens:
        """The tokens of a script, read as what stands in brackets."""
        self.reader.out = []
        self.reader.pos = group.place[0]
        self.reader.scan(group.place[1])
        bars = [as_("COMMA", t, ",") if t.type == "BAR" else t for t in self.reader.out]
        return pair(bars, self.text)

    def letters(self, tokens: Tokens) -> Tokens:
        out: Tokens = []
        for token in tokens:
            name = token.value
            if token.type != "NAME" or name.sups or name.subs or name.text_word or len(name.base) < 2:
                out.append(token)
                continue
            for k, letter in enumerate(name.base, 1):
                if out and out[-1].type == "NAME":
                    out.append(as_("COMMA", token, ","))
                one = Name(letter, primes=name.primes if k == len(name.base) else 0)
                out.append(as_("NAME", token, one))
        return out

    def written(self, group: Group) -> str:
        return self.text[slice(*group.place)].strip()

    # ── what a name is ───────────────────────────────────────────────────────────────────────

    def signed(self, name: Name, count: int) -> Reading | None:
        """The reading that the signature tells: its longest name whose axes the scripts fill."""
        if not self.signature:
            return None
        name = self.parted(name)
        groups = [(g, True) for g in name.sups] + [(g, False) for g in name.subs]
        best: tuple[tuple[int, ...], Reading] | None = None
        torn: tuple[str, Group] | None = None
        whole = name.text in self.signature.ranks  # W_in, also where W is given
        for kinds in product(("name",) if whole else ("name", "index", "power"), repeat=len(groups)):
            chosen = list(zip(kinds, groups, strict=True))
            if any(kind == "power" and not sup for kind, (_, sup) in chosen):
                continue
            kept = name
            for kind, (group, _) in chosen:
                kept = kept if kind == "name" else kept.without(group)
            known = self.signature.find(kept, "index" in kinds and name.base not in self.seen.bound)
            if known is None:
                continue
            indices = [g for kind, (g, _) in chosen if kind == "index"]
            powers = tuple(g for kind, (g, _) in chosen if kind == "power")
            signs = any(g.items in (("plus",), ("minus",)) for g in indices)  # k_+
            if signs or any(_digits(g) and not g.round for g in indices if g in name.sups):
                continue
            rank = self.signature.ranks[known]
            for ways in product((False, True), repeat=len(indices)):
                apart = list(zip(indices, ways, strict=True))
                if any(not way and self.lone(g) for g, way in apart):
                    continue
                total = count + sum(self.width(g, way) for g, way in apart)
                if total > rank or (count and total < rank):
                    continue
                shape = self.signature.shapes[known]
                places = zip(self.first(apart), shape, strict=False)
                elsewhere = any(i in shape and i != own for i, own in places)  # the t of h_t for h[b,t,j]
                if total < rank and elsewhere:
                    torn = known, indices[0]
                    continue
                new = sum(1 for g, way in apart for i in g.items if not way and self.strange(i))
                base = self.signature.shapes.get(name.base, ())  # w_t, where both wt and w[t,i] are given
                loose = kept.text not in self.signature.ranks
                exact = not (loose and any(i in base for g in kept.subs for i in g.items))
                score = (total == rank, exact, kinds.count("name"), -len(powers), -new, -sum(ways))
                if best is None or score > best[0]:
                    plain = Name(known, transposed=kept.transposed and rank > 0, opaque=kept.opaque)
                    order = self.order(known, apart) if total == rank and not count else ()
                    best = score, Reading(plain, tuple(apart), powers, order)
        if best is None and torn is not None:
            axes = ",".join(self.signature.shapes[torn[0]])
            message = f"`{torn[0]}` has the axes {axes}: which is meant? Write all its indices, "
            message += f"`{torn[0]}[{axes}]`"
            raise self.reader.error(message, torn[1].place[0], torn[1].place[1] - torn[1].place[0])
        alone = whole and name.base not in self.signature.ranks and name.subs and not name.sups
        if alone and best and not count:
            (group, *more), shape = name.subs, self.signature.shapes[name.text]
            if not more and group.items == shape and set(shape) <= self.led:  # b_u + b_i, with these axes
                return Reading(best[1].name, ((group, False),))
        return best[1] if best else None

    def parted(self, name: Name) -> Name:
        """`x_{1,b}` as the entry b of `x_1`, where this is given and x is not."""
        for group in name.subs:
            first, _, rest = self.written(group).partition(",")
            if len(group.items) < 2 or not rest or self.signature.find(name.without(group)):
                continue
            start, stop = group.place
            own = replace(group, items=group.items[:1], place=(start, start + len(first)))
            rest_ = replace(group, items=group.items[1:], place=(self.text.index(",", start) + 1, stop))
            apart = replace(name, subs=(own, rest_, *(g for g in name.subs if g is not group)))
            if self.signature.find(apart.without(rest_)):
                return apart
        return name

    def first(self, groups: list[Pair]) -> list[str]:
        """The letter that each index begins with."""
        items = [(item, apart) for group, apart in groups for item in group.items]
        return [i for item, apart in items for i in (item if apart else ATOM.findall(item)[:1] or [""])]

    def order(self, known: str, groups: list[Pair]) -> tuple[int, ...]:
        """Indices above and below have no order of their own: each that is called as an axis stands for it, so that
        `h^{(t)}_{b,j}` is h[b,t,j]."""
        shape, written = self.signature.shapes[known], self.first(groups)
        distinct = len(set(written)) == len(written) == len(shape) == len(set(shape))
        if len(groups) < 2 or not distinct:
            return ()
        rest = (k for k, i in enumerate(written) if i not in shape)
        return tuple(written.index(axis) if axis in written else next(rest) for axis in shape)

    def strange(self, item: str) -> bool:
        """A word of several letters that is an index nowhere else."""
        return item.isalpha() and len(item) > 1 and item not in self.seen.bound | self.seen.indices

    def lone(self, group: Group) -> bool:
        """The word of `y_hat`, which stands below one letter only: part of a name, where no axis is called so."""
        (item, *more), shapes = group.items or ("",), self.signature.shapes.values()
        if more or len(item) < 3 or not self.strange(item) or any(item in shape for shape in shapes):
            return False
        return len({n.base for n in self.seen.names if any(item in g.items for g in n.subs)}) < 2

    def width(self, group: Group, apart: bool) -> int:
        parts = [p.strip() for p in split_commas(self.written(group))]
        word = re.compile(r"(?:[A-Za-z]'?){2,}")
        return sum(len(re.findall("[A-Za-z]", p)) if apart and word.fullmatch(p) else 1 for p in parts)

    def unsigned(self, token: Token, square: bool) -> Reading:
        """The reading that the text itself tells."""
        name: Name = token.value
        if name.subs and not square and self.signature.axis(name) and name.base not in self.bases:
            return Reading(name)  # d_k, the size of k
        if name.base == "e" and name.subs and any(self.signature.ranks.get(g.text) for g in name.sups):
            message = "where does the exponent end? Write `e^{x_i}` or `exp(x_i)`"
            raise refuse(message, self.text, token)
        indices, powers = [], []
        for group in (*name.sups, *name.subs):
            above = any(g is group for g in name.sups)
            if group.round and self.seen.layers:
                continue
            if above and letters_in(group) & self.seen.raised.get(name.base, set()):
                indices.append((group, bool(made_of(group, self.seen.time))))
            elif above and self.is_power(token, group, square):
                powers.append(group)
            elif above and not (group.round or self.seen.above or letters_in(group) & self.seen.bound):
                continue
            elif (apart := made_of(group, self.seen.time)) is not None:
                indices.append((group, apart))
            elif not above and (not group.name_like or self.looks_up(group)):
                indices.append((group, False))
        kept = name
        for group in (*powers, *(g for g, _ in indices)):
            kept = kept.without(group)
        return Reading(kept, tuple(indices), tuple(powers))

    def looks_up(self, group: Group) -> bool:
        """`e_{w_t, i}`: a word as an index; `PE_{(pos,2i)}`: a multiple of one."""
        if len(group.items) > 1 and any(re.fullmatch(r"\d+[a-z]([+-]\d+)?", item) for item in group.items):
            return True
        inner = re.findall(r"[a-z]_\{?([a-z])", self.written(group))
        return bool(inner) and len(group.items) > 1 and set(inner) <= self.seen.time

    def is_power(self, token: Token, group: Group, square: bool) -> bool:
        name: Name = token.value
        rest = name.without(group)
        exponential = rest.text == "e" and "e" not in self.seen.tensors | self.signature.ranks.keys()
        if exponential and not group.round:
            return True
        if _digits(group) and not group.round:
            layers = {g.items for n in self.seen.names if n.base == name.base for g in n.sups}
            if square and rest.text not in self.seen.tensors and not layers & {("0",), ("1",)}:
                power = f"`{rest}^{group.items[0]}[…]` can be a power, written `{rest}[…]^{group.items[0]}`"
                raise refuse(f"{power}, or a name of its own, written `{name.text}[…]`", self.text, token)
            return rest.text in self.seen.tensors or not (square or layers & {("0",), ("1",)})
        if self.seen.above or len(group.items) != 1:
            return False
        if group.round:  # gamma^(t+1) as one types it; h^{(t)} is an index
            return not self.text[: group.place[0] - 1].rstrip().endswith("{")
        atoms = ATOM.findall(group.items[0])
        known = self.seen.indices | self.seen.bound | self.seen.time
        if group.items[0] in self.seen.bare and not rest.capital and len(group.items[0]) == 1:
            return True
        size, number = self.signature.axis(rest), self.signature.find(rest)
        if size and not number and self.signature.axis(Name(group.items[0])):  # I^J
            return True
        if self.signature.ranks.get(group.items[0]) == 0 and (number or size):
            return True
        indices = all(a in known or small_of(a) in known for a in atoms)
        return indices and not square and (rest.base in GREEK or not rest.capital)


def _digits(group: Group) -> bool:
    return all(item.isdigit() for item in group.items)


def families(tokens: Tokens) -> Tokens:
    """`Concat(head_1, …, head_h)` and `[head_1; …; head_h]` as `(head[H]; …)`: all members of a family, end to end."""
    for k in [k for k, t in enumerate(tokens) if t.type == "DOTS" and 2 < k < len(tokens) - 3]:
        first, last = tokens[k - 2], tokens[k + 2]
        signs = {tokens[k - 1].type, tokens[k + 1].type}
        if first.type != "NAME" or last.type != "NAME" or not signs <= {"COMMA", "SEMI"}:
            continue
        one, all_ = first.value, last.value
        pairs = list(zip((*one.sups, *one.subs), (*all_.sups, *all_.subs), strict=False))
        differ = [(a, b) for a, b in pairs if a.items != b.items]
        two = tokens[k - 4].type == "NAME" and tokens[k - 4].value.base == one.base  # r_1, r_2, …
        begins = (("1",), ("2",)) if two else (("0",), ("1",))
        if one.base != all_.base or len(differ) != 1 or differ[0][0].items not in begins:
            continue
        start = k - 4 if two else k - 2
        opened = [t.type for t in tokens[start - 2 : start]]
        reduced = opened[:1] == ["REDUCER"] and tokens[start - 2] != "concat"
        if opened[-1:] == ["LPAR"] and (reduced or tokens[start - 2] in ("min", "max")):
            whole = as_("NAME", first, one.without(differ[0][0]))  # max(r_1, …, r_n)
            return families([*tokens[:start], whole, *tokens[k + 3 :]])
        if opened == ["LPAR", "LPAR"]:  # mean({r_1, …, r_n})
            return families([*tokens[: start - 1], *tokens[start : k + 3], *tokens[k + 4 :]])
        if tokens[start - 1].type not in ("LPAR", "LGRP", "LSQ") or level(tokens[k + 3]) >= 0:
            continue
        letter = Name(capital_of(differ[0][1].items[0][:1]), primes=1)
        inside = [as_("LSQ", first, "["), as_("NAME", last, letter), as_("RSQ", last, "]")]
        dots = [as_("SEMI", tokens[k], ";"), as_("DOTS", tokens[k], "family")]
        family = [as_("NAME", first, one.without(differ[0][0])), *inside, *dots]
        opener, closer = as_("LPAR", tokens[start - 1], "("), as_("RPAR", tokens[k + 3], ")")
        named = tokens[start - 1].type == "LPAR" and _word(tokens[start - 2]) in ("concat", "cat")
        if not named and tokens[start - 1].type == "LPAR" and signs != {"SEMI"}:
            continue
        begin = start - 2 if named else start - 1
        return families([*tokens[:begin], opener, *family, closer, *tokens[k + 4 :]])
    return tokens


def _word(token: Token) -> str:
    return (token.value.base if token.type == "NAME" else str(token.value)).lower()


# Words between whose arguments a sign stands.
_SIGNS = {"concat": "SEMI", "cat": "SEMI", "dot": "AT", "inner": "AT", "matmul": "AT", "mm": "AT", "mv": "AT"}


def laid(tokens: Tokens, known: Signature) -> Tokens:
    """`concat(a, b)` as `[a; b]`, `dot(a, b)` as `a @ b` and `outer(a, b)` as `a b^T`."""
    for k, token in enumerate(tokens[:-1]):
        if (word := _word(token)) not in (*_SIGNS, "outer") or tokens[k + 1].type != "LPAR":
            continue
        if token.type == "NAME" and known.find(token.value):
            continue
        stop, sign = closing(tokens, k + 1), _SIGNS.get(word, "")
        inside = split(tokens[k + 2 : stop])
        if len(inside) < 2 or (len(inside) > 2 and sign != "SEMI"):
            continue
        kinds = ("LGRP", "RGRP") if sign == "SEMI" else ("LPAR", "RPAR")
        opener, closer = as_(kinds[0], tokens[k + 1], "["), as_(kinds[1], tokens[stop], "]")
        if sign != "SEMI":
            inside = [[opener, *part, closer] for part in inside]
        between = [as_(sign, token, ";")] if sign else [as_("FUNC", token, "turned")]
        parts = [t for part in inside for t in (*between, *part)][1:]
        return laid([*tokens[:k], opener, *parts, closer, *tokens[stop + 1 :]], known)
    return tokens
