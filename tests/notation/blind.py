r"""Equations written down blind, as a measure of the reader, in two spellings: what it did not read at first, and what it
did where no other model of the corpus is like it. The same form as in `literature`.
"""

# ruff: noqa: E501 (pages are one line each; names are the mathematics)
from __future__ import annotations

import torch
from literature import E, F, ex, ln, scan, sm, z
from literature import Model as M

P = torch.float64


def ar(n):
    return torch.arange(n, dtype=P)


def rec(step, T, S):
    """step(t, S) -> (S, out)"""
    out = []
    for t in range(T):
        S, o = step(t, S)
        out.append(o)
    return torch.stack(out)


def grid(f, I, J):
    D = {}
    g = lambda i, j: D.get((i, j), torch.tensor(0.0, dtype=P))
    for i in range(I):
        for j in range(J):
            D[i, j] = f(g, i, j)
    return torch.stack([torch.stack([D[i, j] for j in range(J)]) for i in range(I)])


def back(step, T, S):
    out = []
    for t in reversed(range(T)):
        S = step(t, S)
        out.append(S)
    return torch.stack(out[::-1])


def lion(b1, b2, eta, lam, g, theta0=None):
    th_, m, out = z(g.shape[1]), z(g.shape[1]), []
    for t in range(len(g)):
        c = b1 * m + (1 - b1) * g[t]
        th_ = th_ - eta * (torch.sign(c) + lam * th_)
        m = b2 * m + (1 - b2) * g[t]
        out.append(th_)
    return torch.stack(out)


def crossstep(x_0, w, b):
    x0 = x_0
    x = x0
    out = []
    for l in range(len(w)):
        x = x0 * (x @ w[l]) + b[l] + x
        out.append(x)
    return torch.stack(out)


def ctcf(y, l):
    T, S = len(y), len(l)
    a = torch.zeros(T, S, dtype=P)
    for t in range(T):
        for s in range(S):
            p = (1.0 if s == 0 else 0.0) if t == 0 else a[t - 1, s] + (a[t - 1, s - 1] if s else 0)
            a[t, s] = p * y[t, l[s]]
    return a


BLIND = [
    M(
        "RWKV Eagle",
        "w:d u:d k:t,d v:t,e r:t,d t=4",
        "y:t,e",
        "S[t,i,j] = w[i] S[t-1,i,j] + k[t,i] v[t,j]\ny[t,j] = sum over i of r[t,i] (u[i] k[t,i] v[t,j] + S[t-1,i,j])",
        r"""y_t = r_t \left( \mathrm{diag}(u) k_t^\top v_t + S_{t-1} \right), \quad S_t = \mathrm{diag}(w) S_{t-1} + k_t^\top v_t""",
        lambda w, u, k, v, r: rec(
            lambda t, S: (
                w[:, None] * S + torch.outer(k[t], v[t]),
                r[t] @ (u[:, None] * torch.outer(k[t], v[t]) + S),
            ),
            len(k),
            torch.zeros(len(w), v.shape[1], dtype=P),
        ),
    ),
    M(
        "gated linear attention",
        "al:t,d k:t,d v:t,e q:t,d t=4",
        "o:t,e",
        "S_t = diag(al_t) S_{t-1} + k_t v_t^T\no_t = S_t^T q_t",
        r"""\mathbf{S}_t = \mathrm{Diag}(\boldsymbol{al}_t)\,\mathbf{S}_{t-1} + \mathbf{k}_t \mathbf{v}_t^\top, \quad \mathbf{o}_t = \mathbf{S}_t^\top \mathbf{q}_t""",
        lambda al, k, v, q: rec(
            lambda t, S: (lambda S: (S, S.T @ q[t]))(al[t][:, None] * S + torch.outer(k[t], v[t])),
            len(k),
            torch.zeros(k.shape[1], v.shape[1], dtype=P),
        ),
    ),
    M(
        "VAE bound of Kingma",
        "mu:j sigma:j lp:l",
        "L:",
        "L = 1/2 sum_j (1 + log(sigma_j^2) - mu_j^2 - sigma_j^2) + mean_l(lp_l)",
        r"""\mathcal{L} \simeq \frac{1}{2} \sum_{j=1}^{J} \left(1 + \log\left((\sigma_j)^2\right) - (\mu_j)^2 - (\sigma_j)^2\right) + \frac{1}{L}\sum_{l=1}^{L} lp_l""",
        lambda mu, sigma, lp: 0.5 * (1 + ln(sigma**2) - mu**2 - sigma**2).sum() + lp.mean(),
    ),
    M(
        "flow matching",
        "x_0:b,d x_1:b,d tau:b v:b,d",
        "L:",
        "L = 1/B sum_b sum_d (v[b,d] - (x_1[b,d] - x_0[b,d]))^2",
        r"""L = \frac{1}{B} \sum_{b=1}^B \left\| v_b - (x_{1,b} - x_{0,b}) \right\|^2""",
        lambda x_0, x_1, tau, v: ((v - (x_1 - x_0)) ** 2).sum(1).mean(),
    ),
    M(
        "HMM backward by emissions",
        "a:i,i B:i,v o:t<v i=3 t=4 v=5",
        "beta:t,i",
        "beta[T-1,i] = 1\nbeta[t,i] = sum_j a[i,j] B[j,o[t+1]] beta[t+1,j]",
        r"""\beta_{T-1}(i) = 1, \qquad \beta_t(i) = \sum_{j=1}^N a_{ij} B_j(o_{t+1}) \beta_{t+1}(j)""",
        lambda a, B, o: back(
            lambda t, S: torch.ones(len(a), dtype=P) if t == len(o) - 1 else a @ (B[:, o[t + 1]] * S),
            len(o),
            None,
        ),
    ),
    M(
        "biased matrix factorisation",
        "mu: b_u:u b_i:i q:i,f p:u,f",
        "rhat:u,i",
        "rhat_ui = mu + b_u + b_i + q_i^T p_u",
        r"""rhat_{ui} = \mu + b_i + b_u + q_i^T p_u""",
        lambda mu, b_u, b_i, q, p: mu + b_u[:, None] + b_i[None] + p @ q.T,
    ),
    M(
        "regularised factorisation loss",
        "r:u,i w:u,i q:i,f p:u,f lam:",
        "J:",
        "J = sum_{u,i} w[u,i] (r[u,i] - dot(q[i], p[u]))^2 + lam (sum_i ||q[i]||^2 + sum_u ||p[u]||^2)",
        r"""J = \sum_{u,i} w_{ui} (r_{ui} - q_i^T p_u)^2 + \lambda \left( \sum_i \|q_i\|^2 + \sum_u \|p_u\|^2 \right)""",
        lambda r, w, q, p, lam: (w * (r - p @ q.T) ** 2).sum() + lam * ((q**2).sum() + (p**2).sum()),
    ),
    M(
        "Lion",
        "beta1: beta2: eta: lam: g:t,d t=4",
        "theta:t,d",
        "c_t = beta1 m_{t-1} + (1 - beta1) g_t\ntheta_t = theta_{t-1} - eta (sign(c_t) + lam theta_{t-1})\nm_t = beta2 m_{t-1} + (1 - beta2) g_t",
        r"""\begin{aligned} c_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t \\ \theta_t &= \theta_{t-1} - \eta\left(\operatorname{sign}(c_t) + \lambda \theta_{t-1}\right) \\ m_t &= \beta_2 m_{t-1} + (1-\beta_2) g_t \end{aligned}""",
        lambda beta1, beta2, eta, lam, g: lion(beta1, beta2, eta, lam, g),
    ),
    M(
        "DoRA",
        "m:j V:i,j B:i,r A:r,j",
        "W:i,j",
        "U[i,j] = V[i,j] + sum_r B[i,r] A[r,j]\nW[i,j] = m[j] U[i,j] / sqrt(sum_k U[k,j]^2)",
        r"""W_{ij} = m_j \frac{U_{ij}}{\sqrt{\sum_k U_{kj}^2}}, \quad U = V + BA""",
        lambda m, V, B, A: (lambda U: m * U / U.norm(dim=0))(V + B @ A),
    ),
    M(
        "Shaw relative values",
        "alpha:i,j x:j,d WV:d,z aV:i,j,z",
        "y:i,z",
        "y_i = sum_j alpha_ij (x_j WV + aV_ij)",
        r"""y_i = \sum_{j=1}^{n} \alpha_{ij} (x_j W^V + a_{ij}^V)""",
        lambda alpha, x, WV, aV: E("ij,ijz->iz", alpha, (x @ WV)[None] + aV),
    ),
    M(
        "KERPLE",
        "q:i,d k:j,d r_1: r_2:",
        "a:i,j",
        "a_ij = q_i^T k_j - r_1 log(1 + r_2 |i - j|)",
        r"""a_{i,j} = q_i^\top k_j - r_1 \log(1 + r_2 |i - j|)""",
        lambda q, k, r_1, r_2: q @ k.T - r_1 * ln(1 + r_2 * (ar(len(q))[:, None] - ar(len(k))[None]).abs()),
    ),
    M(
        "NTM content addressing",
        "beta:t k:t,d M:t,i,d",
        "w:t,i",
        "K[t,i] = (k[t] . M[t,i]) / (||k[t]|| ||M[t,i]||)\nw[t,i] = exp(beta[t] K[t,i]) / sum_j exp(beta[t] K[t,j])",
        r"""w_t(i) = \frac{\exp\left(\beta_t K[\mathbf{k}_t, \mathbf{M}_t(i)]\right)}{\sum_j \exp\left(\beta_t K[\mathbf{k}_t, \mathbf{M}_t(j)]\right)}, \qquad K[\mathbf{u},\mathbf{v}] = \frac{\mathbf{u}\cdot\mathbf{v}}{\|\mathbf{u}\| \cdot \|\mathbf{v}\|}""",
        lambda beta, k, M: sm(beta[:, None] * F.cosine_similarity(k[:, None], M, dim=-1, eps=0)),
    ),
    M(
        "NTM sharpening",
        "wt:t,i gamma:t",
        "w:t,i",
        "w_t(i) = wt_t(i)^gamma_t / sum_j wt_t(j)^gamma_t",
        r"""w_t(i) = \frac{wt_t(i)^{\gamma_t}}{\sum_j wt_t(j)^{\gamma_t}}""",
        lambda wt, gamma: wt ** gamma[:, None] / (wt ** gamma[:, None]).sum(1, keepdim=True),
    ),
    M(
        "NTM write and read",
        "w:t,i e:t,d a:t,d t=4",
        "r:t,d",
        "M[t,i,d] = M[t-1,i,d] * (1 - w[t,i] e[t,d]) + w[t,i] a[t,d]\nr[t,d] = sum_i w[t,i] M[t,i,d]",
        r"""\mathbf{M}_t(i) = \mathbf{M}_{t-1}(i)\left[\mathbf{1} - w_t(i)\mathbf{e}_t\right] + w_t(i)\,\mathbf{a}_t, \qquad \mathbf{r}_t = \sum_i w_t(i) \mathbf{M}_t(i)""",
        lambda w, e, a: rec(
            lambda t, S: (lambda S: (S, w[t] @ S))(
                S * (1 - torch.outer(w[t], e[t])) + torch.outer(w[t], a[t])
            ),
            len(w),
            torch.zeros(w.shape[1], e.shape[1], dtype=P),
        ),
    ),
    M(
        "DNC temporal links",
        "w:t,i p:t,i t=4",
        "L:t,i,j",
        "L[t,i,j] = (1 - w[t,i] - w[t,j]) L[t-1,i,j] + w[t,i] p[t-1,j]",
        r"""L_t[i,j] = (1 - w_t[i] - w_t[j]) L_{t-1}[i,j] + w_t[i] p_{t-1}[j]""",
        lambda w, p: scan(
            lambda t, L: (
                (1 - w[t][:, None] - w[t][None]) * L + torch.outer(w[t], p[t - 1] if t else 0 * p[0]),
            ),
            len(w),
            torch.zeros(w.shape[1], w.shape[1], dtype=P),
        ),
    ),
    M(
        "GRPO advantage",
        "r:i i=5",
        "A:i",
        "A_i = (r_i - mean(r)) / std(r)",
        r"""A_i = \frac{r_i - \mathrm{mean}(\{r_1, r_2, \cdots, r_G\})}{\mathrm{std}(\{r_1, r_2, \cdots, r_G\})}""",
        lambda r: (r - r.mean()) / r.std(unbiased=False),
    ),
    M(
        "double DQN target",
        "r: gamma: Q:a Qt:a",
        "Y:",
        "Y = r + gamma Qt[argmax_a Q[a]]",
        r"""Y = r + \gamma\, Qt\left(\operatorname{argmax}_a Q(a)\right)""",
        lambda r, gamma, Q, Qt: r + gamma * Qt[Q.argmax()],
    ),
    M(
        "prototypical network",
        "S:k,n,d x:d",
        "p:k",
        "c_k = 1/N sum_n S_kn\nd_k = ||x - c_k||^2\np_k = exp(-d_k)/sum_j exp(-d_j)",
        r"""c_k = \frac{1}{N_S} \sum_{n} S_{kn}, \qquad p_k = \frac{\exp(-d(x, c_k))}{\sum_{k'} \exp(-d(x, c_{k'}))}, \quad d(u, v) = \|u - v\|^2""",
        lambda S, x: sm(-((x - S.mean(1)) ** 2).sum(1)),
    ),
    M(
        "longest common subsequence",
        "a:i<v b:j<v v=2 i=4 j=5",
        "L:i,j",
        "L[i,j] = L[i-1,j-1] + 1 if a[i] == b[j] else max(L[i-1,j], L[i,j-1])",
        r"""L_{i,j} = \begin{cases} L_{i-1,j-1} + 1 & \text{if } a_i = b_j \\ \max(L_{i-1,j}, L_{i,j-1}) & \text{if } a_i \neq b_j \end{cases}""",
        lambda a, b: grid(
            lambda g, i, j: g(i - 1, j - 1) + 1 if a[i] == b[j] else torch.maximum(g(i - 1, j), g(i, j - 1)),
            len(a),
            len(b),
        ),
    ),
    M(
        "Smith-Waterman",
        "S:v,v a:i<v b:j<v d: i=4 j=5 v=3",
        "H:i,j",
        "H_ij = max(0, H_{i-1,j-1} + S[a_i,b_j], H_{i-1,j} - d, H_{i,j-1} - d)",
        r"""H_{ij} = \max\begin{cases} 0 \\ H_{i-1,j-1} + S(a_i, b_j) \\ H_{i-1,j} - d \\ H_{i,j-1} - d \end{cases}""",
        lambda S, a, b, d: grid(
            lambda g, i, j: max(0 * d, g(i - 1, j - 1) + S[a[i], b[j]], g(i - 1, j) - d, g(i, j - 1) - d),
            len(a),
            len(b),
        ),
    ),
    M(
        "CTC forward, blankless",
        "y:t,v l:s<v t=5 v=4 s=3",
        "alpha:t,s",
        "alpha[0,s] = y[0,l[0]] if s == 0 else 0\nalpha[t,s] = (alpha[t-1,s] + alpha[t-1,s-1]) y[t,l[s]]",
        r"""\alpha_t(s) = \left(\alpha_{t-1}(s) + \alpha_{t-1}(s-1) + [t = 0, s = 0]\right) y_{t, l_s}""",
        ctcf,
    ),
    M(
        "RNN transducer",
        "n:t,u y:t,u t=4 u=3",
        "a:t,u",
        "a(t,u) = a(t-1,u) n(t-1,u) + a(t,u-1) y(t,u-1) + [t == 0 and u == 0]",
        r"""a(t,u) = a(t-1,u)\, n(t-1,u) + a(t,u-1)\, y(t,u-1) + \mathbb{1}[t = 0 \land u = 0]""",
        lambda n, y: grid(
            lambda g, t, u: (
                g(t - 1, u) * (n[t - 1, u] if t else 0)
                + g(t, u - 1) * (y[t, u - 1] if u else 0)
                + (1.0 if t == u == 0 else 0.0)
            ),
            *n.shape,
        ),
    ),
    M(
        "deep and cross",
        "x_0:d w:l,d b:l,d d=3 l=4",
        "x:l,d",
        "x[l,d] = x_0[d] sum_k(w[l,k] x[l-1,k]) + b[l,d] + x[l-1,d] for l > 0\nx[0,d] = x_0[d] sum_k(w[0,k] x_0[k]) + b[0,d] + x_0[d]",
        r"""x_{l} = x_0 x_{l-1}^T w_l + b_l + x_{l-1}, \quad x_{-1} = x_0""",
        crossstep,
    ),
    M(
        "non-local block",
        "T:d,c G:d,c H:e,c x:i,c",
        "y:i,e",
        "f_ij = exp((T x_i)^T (G x_j))\ny_i = sum_j f_ij H x_j / sum_j f_ij",
        r"""y_i = \frac{1}{C_i} \sum_{\forall j} f_{ij} H x_j, \quad f_{ij} = e^{(T x_i)^T (G x_j)}, \quad C_i = \sum_{\forall j} f_{ij}""",
        lambda T, G, H, x: (lambda f: f @ (x @ H.T) / f.sum(1, keepdim=True))(ex((x @ T.T) @ (x @ G.T).T)),
    ),
    M(
        "retention chunk decay mask",
        "q:n,d k:m,d v:m,e g: n=4 m=4",
        "o:n,e",
        "D[n,m] = g^(n-m) if n >= m else 0\no[n,e] = sum_m (sum_d q[n,d]*k[m,d]) * D[n,m] * v[m,e]",
        r"""o = (q k^\top \odot D) v, \quad D_{nm} = \begin{cases} g^{n-m}, & n \ge m \\ 0, & n < m \end{cases}""",
        lambda q, k, v, g: ((q @ k.T) * torch.tril(g ** (ar(4)[:, None] - ar(4)[None]))) @ v,
    ),
    M(
        "gated delta net",
        "al:t be:t k:t,d v:t,e q:t,d t=4",
        "o:t,e",
        "u[t,e] = sum_d S[t-1,e,d] k[t,d]\nS[t,e,d] = al[t] (S[t-1,e,d] - be[t] u[t,e] k[t,d]) + be[t] v[t,e] k[t,d]\no[t,e] = sum_d S[t,e,d] q[t,d]",
        r"""S_t = al_t \left( S_{t-1} - be_t (S_{t-1} k_t) k_t^\top \right) + be_t v_t k_t^\top, \quad o_t = S_t q_t""",
        lambda al, be, k, v, q: rec(
            lambda t, S: (lambda S: (S, S @ q[t]))(
                al[t] * (S - be[t] * torch.outer(S @ k[t], k[t])) + be[t] * torch.outer(v[t], k[t])
            ),
            4,
            torch.zeros(v.shape[1], k.shape[1], dtype=P),
        ),
    ),
    M(
        "Muon Newton-Schulz",
        "X:m,n a: b: c:",
        "Y:m,n",
        "A = X X^T\nY = a X + (b A + c A A) X",
        r"""A = X X^\top, \quad B = bA + cAA, \quad Y = aX + BX""",
        lambda X, a, b, c: (lambda A: a * X + (b * A + c * A @ A) @ X)(X @ X.T),
    ),
    M(
        "RESCAL",
        "h:i M:r,i,i t:i i=3",
        "f:r",
        "f_r = h^T M_r t",
        r"""f_r = \mathbf{h}^\top \mathbf{M}_r \mathbf{t} = \sum_{i=1}^{d} \sum_{j=1}^{d} [\mathbf{M}_r]_{ij} \cdot [\mathbf{h}]_i \cdot [\mathbf{t}]_j""",
        lambda h, M, t: E("i,rij,j->r", h, M, t),
    ),
    M(
        "MLA compression",
        "WD:c,d UK:k,c UV:e,c h:t,d q:k t=4",
        "o:e",
        "c_t = WD h_t\nk_t = UK c_t\nv_t = UV c_t\na = softmax_t(q . k_t / sqrt(K))\no = sum_t a_t v_t",
        r"""c_t = WD\, h_t, \quad k_t = UK\, c_t, \quad v_t = UV\, c_t, \quad a_t = \mathrm{softmax}_t\left(\frac{q^T k_t}{\sqrt{d_k}}\right), \quad o = \sum_{t} a_t v_t""",
        lambda WD, UK, UV, h, q: (lambda c: sm((c @ UK.T) @ q / len(q) ** 0.5) @ (c @ UV.T))(h @ WD.T),
    ),
    M(
        "scheduled copy gate",
        "g:t p:t,v a:t,s w:s<v t=2 v=5 s=4",
        "q:t,v",
        "q[t,v] = g[t] p[t,v] + (1 - g[t]) sum_s a[t,s] [w[s] == v]",
        r"""q_t(v) = g_t p_t(v) + (1 - g_t) \sum_{s: w_s = v} a_{t,s}""",
        lambda g, p, a, w: g[:, None] * p + (1 - g)[:, None] * (a @ F.one_hot(w, p.shape[1]).double()),
    ),
    M(
        "end-to-end memory hop",
        "A:d,v B:d,v C:d,v x:n,v q:v",
        "u:d",
        "m_i = A x_i\nc_i = C x_i\ns = B q\np_i = softmax_i(s^T m_i)\nu = s + sum_i p_i c_i",
        r"""m_i = A x_i, \quad c_i = C x_i, \quad s = B q, \quad p_i = \mathrm{Softmax}(s^T m_i), \quad u = s + \sum_i p_i c_i""",
        lambda A, B, C, x, q: (lambda s: s + sm((x @ A.T) @ s) @ (x @ C.T))(B @ q),
    ),
    M(
        "Adadelta",
        "rho: eps: g:t,d t=4",
        "u:t,d",
        "s_t = rho s_{t-1} + (1-rho) g_t^2\nu_t = sqrt(r_{t-1} + eps)/sqrt(s_t + eps) g_t\nr_t = rho r_{t-1} + (1-rho) u_t^2",
        r"""s_t = \rho s_{t-1} + (1 - \rho) g_t^2, \quad u_t = \frac{\sqrt{r_{t-1} + \epsilon}}{\sqrt{s_t + \epsilon}} g_t, \quad r_t = \rho r_{t-1} + (1 - \rho) u_t^2""",
        lambda rho, eps, g: (
            lambda D: scan(
                lambda t, u, s, r: (
                    lambda s: (lambda u: (u, s, rho * r + (1 - rho) * u**2))(
                        torch.sqrt(r + eps) / torch.sqrt(s + eps) * g[t]
                    )
                )(rho * s + (1 - rho) * g[t] ** 2),
                4,
                z(D),
                z(D),
                z(D),
            )
        )(g.shape[1]),
    ),
    M(
        "kernel regression",
        "x:n,d y:n z:d h:",
        "f:",
        "k_n = exp(-||x_n - z||^2/(2 h^2))\nf = sum_n k_n y_n / sum_n k_n",
        r"""f = \frac{\sum_{n=1}^N k_n y_n}{\sum_{n=1}^N k_n}, \qquad k_n = \exp\left(-\frac{\|x_n - z\|^2}{2h^2}\right)""",
        lambda x, y, z, h: (lambda k: (k * y).sum() / k.sum())(ex(-((x - z) ** 2).sum(1) / (2 * h**2))),
    ),
    M(
        "Plackett-Luce",
        "s:n n=4",
        "L:",
        "L = -sum_i (s_i - log(sum_{j >= i} exp(s_j)))",
        r"""L = -\sum_{i=1}^{n} \left( s_i - \log \sum_{j=i}^{n} \exp(s_j) \right)""",
        lambda s: -(s - torch.logcumsumexp(s.flip(0), 0).flip(0)).sum(),
    ),
    M(
        "Viterbi back pointer",
        "a:i,j e:t,j i=3 j=3 t=4",
        "b:t,j",
        "v[t,j] = e[t,j] + max_i(v[t-1,i] + a[i,j])\nb[t,j] = argmax_i(v[t-1,i] + a[i,j])",
        r"""v_t(j) = e_t(j) + \max_i \left( v_{t-1}(i) + a_{ij} \right), \quad b_t(j) = \arg\max_i \left( v_{t-1}(i) + a_{ij} \right)""",
        lambda a, e: (
            lambda V: torch.stack([((V[t - 1] if t else z(3))[:, None] + a).argmax(0) for t in range(4)])
        )(scan(lambda t, v: (e[t] + (v[:, None] + a).max(0).values,), 4, z(3))),
    ),
]
