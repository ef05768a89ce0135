"""Multi-head attention with its matrices in the open: W_Q[k,i,j], W_K[k,i,j], W_V[k,i,j], W_O[j,k,i].

A head k asks (Query), is asked (Key) and answers (Value) in a space of size I, usually smaller than
the layer's J; alpha[k,t1,t2] is the weight of the edge from t1 to t2 with label k.
"""

from typing import Self

import torch
from torch import Tensor, nn

from .guards import need, need_like, need_one_of, need_tensors
from .local_attention import local_attention
from .patterns import LOCAL, PATTERNS, attend, mask, need_allowed

Maybe = Tensor | None

MATRICES = """
shape W_Q = K, I, J
shape W_K = K, I, J
shape W_V = K, I, J
shape W_O = J, K, I
parameters W_Q, W_K, W_V, W_O"""

SELF = f"""{MATRICES}
Query[b,k,t,i] = W_Q[k,i,J] L[b,t,J]
Key[b,k,t,i] = W_K[k,i,J] L[b,t,J]
Value[b,k,t,i] = W_V[k,i,J] L[b,t,J]
alpha[b,k,t1,t2] = softmax[t2](1/sqrt(I) Query[b,k,t1,I] Key[b,k,t2,I])
h[b,k,t,i] = alpha[b,k,t,T] Value[b,k,T,i]
L_SA[b,t,j] = W_O[j,K,I] h[b,K,t,I]
"""

CAUSAL = SELF.replace("softmax[t2]", "softmax[t2<=t1]")

CROSS = f"""{MATRICES}
Query[b,k,t,i] = W_Q[k,i,J] L[b,t,J]
Key[b,k,s,i] = W_K[k,i,J] M[b,s,J]
Value[b,k,s,i] = W_V[k,i,J] M[b,s,J]
alpha[b,k,t,s] = softmax[s](1/sqrt(I) Query[b,k,t,I] Key[b,k,s,I])
h[b,k,t,i] = alpha[b,k,t,S] Value[b,k,S,i]
L_SA[b,t,j] = W_O[j,K,I] h[b,K,t,I]
"""


class Heads(nn.Module):
    """`SELF`, `CAUSAL` or another pattern over one sequence; `CROSS` from one to another.

    forward: L (B,T,J), M (B,S,J) or None -> (L_SA (B,T,J), alpha (B,K,T,S)).
    A local pattern is computed in O(T w), so it has no alpha to give: None in its place.
    `bias` adds what torch has and the course does without; like every bias here, it is subtracted.

    >>> [tuple(tensor.shape) for tensor in Heads(width=6, heads=2)(torch.zeros(1, 5, 6))]
    [(1, 5, 6), (1, 2, 5, 5)]
    """

    def __init__(
        self,
        width: int,
        heads: int,
        size: int | None = None,
        pattern: str = "full",
        w: int | None = None,
        bias: bool = False,
    ):
        super().__init__()
        need_one_of("pattern", pattern, PATTERNS)
        fits = size is not None or width % heads == 0
        need(fits, f"width {width} is no multiple of {heads} heads; give the size of a head")
        J, K, I = width, heads, size or width // heads
        self.pattern, self.w = pattern, w
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(K, I, J) * J**-0.5) for _ in range(3))
        self.W_O = nn.Parameter(torch.randn(J, K, I) * (K * I) ** -0.5)
        self.B_Q, self.B_K, self.B_V = (nn.Parameter(torch.zeros(K, I)) if bias else None for _ in range(3))
        self.B_O = nn.Parameter(torch.zeros(J)) if bias else None

    def forward(self, L: Tensor, M: Maybe = None, allowed: Maybe = None) -> tuple[Tensor, Maybe]:
        """`allowed` (B,S) bool is False at the keys that nobody may look at, such as padding."""
        M = L if M is None else M
        B, _, S = need_tensors("L B T J, M B S J", L, M, J=self.W_Q.shape[2])
        need_like("L", L, "W_Q", self.W_Q)
        if allowed is not None:
            need_allowed(allowed, B, S)
            allowed = allowed[:, None, :]  # the same for every head
        Query = _project(self.W_Q, self.B_Q, L)
        Key = _project(self.W_K, self.B_K, M)
        Value = _project(self.W_V, self.B_V, M)
        if self.pattern in LOCAL:
            h, alpha = local_attention(self.pattern, Query, Key, Value, self.w, allowed), None
        else:
            seen = None if allowed is None else allowed[..., None, :]  # and for every query
            if self.pattern == "causal":
                causal = mask("causal", Query.shape[-2], device=Query.device)
                seen = causal if seen is None else causal & seen
            h, alpha = attend(Query, Key, Value, seen)
        L_SA = torch.einsum("jki,bkti->btj", self.W_O, h)
        return (L_SA if self.B_O is None else L_SA - self.B_O), alpha

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention, pattern: str = "full", w: int | None = None) -> Self:
        """The same function as torch's module (batch first): heads k-major, and its bias is ours negated."""
        J, K = module.embed_dim, module.num_heads
        same = module.in_proj_weight is not None and module.bias_k is None and not module.add_zero_attn
        need(same, "module has kdim, vdim, bias_k or zero attention; from_torch needs one width for all")
        heads = cls(J, K, pattern=pattern, w=w, bias=module.in_proj_bias is not None)
        W_Q, W_K, W_V = module.in_proj_weight.chunk(3)
        theirs = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": module.out_proj.weight}
        if module.in_proj_bias is not None:
            B_Q, B_K, B_V = module.in_proj_bias.chunk(3)
            theirs |= {"B_Q": -B_Q, "B_K": -B_K, "B_V": -B_V, "B_O": -module.out_proj.bias}
        ours = heads.to(module.in_proj_weight).state_dict()
        heads.load_state_dict({name: theirs[name].view_as(tensor) for name, tensor in ours.items()})
        return heads


def _project(W: Tensor, B: Maybe, L: Tensor) -> Tensor:
    """W[k,i,J] L[b,t,J] - B[k,i] -> (B,K,T,I)."""
    projected = torch.einsum("kij,btj->bkti", W, L)
    return projected if B is None else projected - B[:, None, :]
