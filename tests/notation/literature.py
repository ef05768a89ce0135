r"""Models of the literature, each as it is typed in ASCII and as its paper prints it, with an oracle in torch.

`given` tells the inputs and their axes, one letter an axis (`w:b,t<v` holds whole numbers below the size of v); the
letters get the sizes 2, 3, 4, ... in order of writing, unless one is told (`c=7`). `asked` is the tensor that the oracle computes.
"""

# ruff: noqa: E501 (pages are one line each; names are the mathematics)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

F = torch.nn.functional
sg, th, ex, ln, relu = torch.sigmoid, torch.tanh, torch.exp, torch.log, torch.relu
E = torch.einsum


def sm(x, dim=-1):
    return torch.softmax(x, dim)


@dataclass
class Model:
    name: str
    given: str
    asked: str
    text: str
    page: str
    oracle: Callable


def scan(step, T, *state):
    """The first of the states after each step."""
    out = []
    for t in range(T):
        state = step(t, *state)
        out.append(state[0])
    return torch.stack(out)


def z(n):
    return torch.zeros(n, dtype=torch.float64)


MODELS = [
    # ── units and layers ──
    Model(
        "perceptron unit",
        "w:i x:i b:",
        "y:",
        "y = sigmoid(w[I] x[I] + b)",
        r"y = \sigma\left(\sum_{i=1}^{n} w_i x_i + b\right)",
        lambda w, x, b: sg(w @ x + b),
    ),
    Model(
        "dense layer",
        "W:j,i x:i b:j",
        "y:j",
        "y[j] = tanh(W[j,I] x[I] + b[j])",
        r"\mathbf{y} = \tanh(\mathbf{W}\mathbf{x} + \mathbf{b})",
        lambda W, x, b: th(W @ x + b),
    ),
    Model(
        "batch of rows",
        "X:n,i W:i,j b:j",
        "Y:n,j",
        "Y[n,j] = relu(X[n,I] W[I,j] + b[j])",
        r"Y = \mathrm{ReLU}(XW + b)",
        lambda X, W, b: relu(X @ W + b),
    ),
    Model(
        "two-layer network",
        "W_1:h,i W_2:o,h x:i b_1:h b_2:o",
        "y:o",
        "h[k] = relu(W_1[k,I] x[I] + b_1[k])\ny[o] = W_2[o,H] h[H] + b_2[o]",
        r"y = W_2 \max(0, W_1 x + b_1) + b_2",
        lambda W_1, W_2, x, b_1, b_2: W_2 @ relu(W_1 @ x + b_1) + b_2,
    ),
    Model(
        "backpropagation's unit",
        "w:j,i y:i theta:j",
        "o:j",
        "o[j] = 1/(1 + exp(-(w[j,I] y[I] + theta[j])))",
        r"o_j = \frac{1}{1 + e^{-\left(\sum_i w_{ji} y_i + \theta_j\right)}}",
        lambda w, y, theta: sg(w @ y + theta),
    ),
    Model(
        "highway layer",
        "W_H:j,i W_T:j,i x:i b_H:j b_T:j r:j",
        "y:j",
        "T_g[j] = sigmoid(W_T[j,I] x[I] + b_T[j])\ny[j] = tanh(W_H[j,I] x[I] + b_H[j]) T_g[j] + r[j] (1 - T_g[j])",
        r"y = \tanh(W_H x + b_H) \odot \sigma(W_T x + b_T) + r \odot (1 - \sigma(W_T x + b_T))",
        lambda W_H, W_T, x, b_H, b_T, r: th(W_H @ x + b_H) * sg(W_T @ x + b_T) + r * (1 - sg(W_T @ x + b_T)),
    ),
    Model(
        "residual block",
        "W_1:h,i W_2:i,h x:i",
        "y:i",
        "y[i] = x[i] + W_2[i,H] relu(W_1[H,J] x[J])",
        r"y = x + W_2 \sigma_r(W_1 x), \quad \sigma_r(z) = \max(0, z)",
        lambda W_1, W_2, x: x + W_2 @ relu(W_1 @ x),
    ),
    Model(
        "maxout",
        "W:k,j,i x:i b:k,j",
        "h:j",
        "h[j] = max[k](sum[i](W[k,j,i] x[i]) + b[k,j])",
        r"h_j = \max_k \left( \sum_i W_{kji} x_i + b_{kj} \right)",
        lambda W, x, b: (E("kji,i->kj", W, x) + b).max(0).values,
    ),
    Model(
        "gated linear unit",
        "W:j,i V:j,i x:i b:j c:j",
        "y:j",
        "y[j] = (W[j,I] x[I] + b[j]) sigmoid(V[j,I] x[I] + c[j])",
        r"y = (Wx + b) \odot \sigma(Vx + c)",
        lambda W, V, x, b, c: (W @ x + b) * sg(V @ x + c),
    ),
    Model(
        "SwiGLU",
        "W:j,i V:j,i U:i,j x:i",
        "y:i",
        "y[i] = U[i,J] silu(W[J,K] x[K]) (V[J,L] x[L])",
        r"y = U \left(\mathrm{SiLU}(Wx) \odot Vx\right)",
        lambda W, V, U, x: U @ (F.silu(W @ x) * (V @ x)),
    ),
    Model(
        "GELU feed-forward",
        "W_1:h,i W_2:i,h x:i",
        "y:i",
        "y[i] = W_2[i,H] gelu(W_1[H,J] x[J])",
        r"y = W_2\, \mathrm{GELU}(W_1 x)",
        lambda W_1, W_2, x: W_2 @ F.gelu(W_1 @ x),
    ),
    Model(
        "GELU, the tanh form",
        "x:i",
        "y:i",
        "y[i] = 0.5 x[i] (1 + tanh(0.7978845608 (x[i] + 0.044715 x[i]^3)))",
        r"y_i = 0.5 x_i \left(1 + \tanh\left(0.7978845608 (x_i + 0.044715 x_i^3)\right)\right)",
        lambda x: 0.5 * x * (1 + th(0.7978845608 * (x + 0.044715 * x**3))),
    ),
    Model(
        "softplus",
        "x:i",
        "y:i",
        "y[i] = log(1 + exp(x[i]))",
        r"y_i = \ln(1 + e^{x_i})",
        lambda x: F.softplus(x),
    ),
    Model(
        "leaky rectifier",
        "x:i alpha:",
        "y:i",
        "y[i] = x[i] if x[i] > 0 else alpha x[i]",
        r"y_i = \begin{cases} x_i & \text{if } x_i > 0 \\ \alpha x_i & \text{otherwise} \end{cases}",
        lambda x, alpha: torch.where(x > 0, x, alpha * x),
    ),
    Model(
        "ELU",
        "x:i alpha:",
        "y:i",
        "y[i] = cases(x[i] if x[i] > 0, alpha (exp(x[i]) - 1) otherwise)",
        r"y_i = \begin{cases} x_i & x_i > 0 \\ \alpha (e^{x_i} - 1) & x_i \le 0 \end{cases}",
        lambda x, alpha: torch.where(x > 0, x, alpha * (ex(x) - 1)),
    ),
    Model(
        "layer normalisation",
        "x:t,i g:i b:i",
        "y:t,i",
        "mu[t] = 1/I x[t,I]\nvar[t] = 1/I (x[t,I] - mu[t])^2\ny[t,i] = g[i] (x[t,i] - mu[t])/sqrt(var[t] + 1e-5) + b[i]",
        r"\mu_t = \frac{1}{N} \sum_{i=1}^{N} x_{t,i}, \quad v_t = \frac{1}{N} \sum_{i=1}^{N} (x_{t,i} - \mu_t)^2, \quad y_{t,i} = g_i \frac{x_{t,i} - \mu_t}{\sqrt{v_t + 10^{-5}}} + b_i",
        lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b),
    ),
    Model(
        "batch normalisation",
        "x:n,i g:i b:i",
        "y:n,i",
        "m[i] = mean[n](x[n,i])\nv[i] = var[n](x[n,i])\ny[n,i] = g[i] (x[n,i] - m[i])/sqrt(v[i] + 1e-5) + b[i]",
        r"m_i = \frac{1}{N}\sum_{n=1}^{N} x_{n,i}, \quad v_i = \frac{1}{N}\sum_{n=1}^{N} (x_{n,i} - m_i)^2, \quad y_{n,i} = g_i \frac{x_{n,i} - m_i}{\sqrt{v_i + 10^{-5}}} + b_i",
        lambda x, g, b: g * (x - x.mean(0)) / (x.var(0, unbiased=False) + 1e-5).sqrt() + b,
    ),
    Model(
        "RMS norm",
        "x:t,i g:i",
        "y:t,i",
        "y[t,i] = g[i] x[t,i]/sqrt(1/I x[t,I]^2)",
        r"y_{t,i} = \frac{x_{t,i}}{\sqrt{\frac{1}{n} \sum_{k=1}^{n} x_{t,k}^2}} g_i",
        lambda x, g: x / (x**2).mean(1, keepdim=True).sqrt() * g,
    ),
    Model(
        "weight normalisation",
        "v:i x:i g:",
        "y:",
        "y = g/sqrt(sum[i](v[i]^2)) v[I] x[I]",
        r"y = \frac{g}{\|v\|} v^T x",
        lambda v, x, g: g / v.norm() * (v @ x),
    ),
    Model(
        "dropout with a mask",
        "x:i m:i p:",
        "y:i",
        "y[i] = m[i] x[i]/(1 - p)",
        r"y = \frac{m \odot x}{1 - p}",
        lambda x, m, p: m * x / (1 - p),
    ),
    Model(
        "bilinear form",
        "h:i W:i,j e:j",
        "s:",
        "s = h[I] W[I,J] e[J]",
        r"s = h^\top W e",
        lambda h, W, e: h @ W @ e,
    ),
    Model(
        "neural tensor",
        "e:i W:k,i,j f:j b:k",
        "y:k",
        "y[k] = tanh(e[I] W[k,I,J] f[J] + b[k])",
        r"y_k = \tanh\left( \sum_{i,j} e_i W_{kij} f_j + b_k \right)",
        lambda e, W, f, b: th(E("i,kij,j->k", e, W, f) + b),
    ),
    Model(
        "factorisation machine",
        "w0: w:i v:i,k x:i",
        "y:",
        "y = w0 + w[I] x[I] + 1/2 sum[k]((sum[i](v[i,k] x[i]))^2 - sum[i](v[i,k]^2 x[i]^2))",
        r"y = w_0 + \sum_{i=1}^{n} w_i x_i + \frac{1}{2} \sum_k \left( \left(\sum_i v_{i,k} x_i\right)^2 - \sum_i v_{i,k}^2 x_i^2 \right)",
        lambda w0, w, v, x: w0 + w @ x + 0.5 * ((x @ v) ** 2 - (x**2) @ (v**2)).sum(),
    ),
    Model(
        "radial basis units",
        "x:i c:j,i s:j",
        "y:j",
        "y[j] = exp(-sum[i]((x[i] - c[j,i])^2)/(2 s[j]^2))",
        r"y_j = \exp\left(-\frac{\sum_i (x_i - c_{ji})^2}{2 s_j^2}\right)",
        lambda x, c, s: ex(-((x - c) ** 2).sum(1) / (2 * s**2)),
    ),
    # ── outputs and losses ──
    Model(
        "softmax",
        "z:j",
        "p:j",
        "p[j] = exp(z[j])/sum[k](exp(z[k]))",
        r"p_j = \frac{e^{z_j}}{\sum_{k=1}^{K} e^{z_k}}",
        lambda z: sm(z),
    ),
    Model(
        "softmax, one letter twice",
        "z:j",
        "p:j",
        "p[j] = exp(z[j])/sum[j](exp(z[j]))",
        r"p_j = \frac{\exp(z_j)}{\sum_j \exp(z_j)}",
        lambda z: sm(z),
    ),
    Model(
        "softmax at a temperature",
        "z:j T:",
        "p:j",
        "p[j] = softmax[j](z[j]/T)",
        r"p_j = \frac{\exp(z_j/T)}{\sum_k \exp(z_k/T)}",
        lambda z, T: sm(z / T),
    ),
    Model(
        "cross entropy",
        "y:i yhat:i",
        "L:",
        "L = -y[I] log(yhat[I])",
        r"L = -\sum_i y_i \log \hat{y}_i",
        lambda y, yhat: -(y * ln(yhat)).sum(),
    ),
    Model(
        "perplexity",
        "y:t,i yhat:t,i",
        "PP:",
        "CE = -1/T sum[t,i](y[t,i] log(yhat[t,i]))\nPP = exp(CE)",
        r"\mathrm{CE} = -\frac{1}{N} \sum_{t=1}^{N} \sum_i y_{t,i} \log \hat y_{t,i}, \quad \mathrm{PP} = e^{\mathrm{CE}}",
        lambda y, yhat: ex(-(y * ln(yhat)).sum() / len(y)),
    ),
    Model(
        "bits per character",
        "p:t",
        "H:",
        "H = -1/T sum[t](log_2(p[t]))",
        r"H = -\frac{1}{T} \sum_{t=1}^{T} \log_2 p_t",
        lambda p: -torch.log2(p).mean(),
    ),
    Model(
        "binary cross entropy",
        "y:n p:n",
        "L:",
        "L = -1/N sum[n](y[n] log(p[n]) + (1 - y[n]) log(1 - p[n]))",
        r"L = -\frac{1}{N} \sum_{n=1}^{N} \left[ y_n \log p_n + (1 - y_n) \log (1 - p_n) \right]",
        lambda y, p: F.binary_cross_entropy(p, y),
    ),
    Model(
        "mean squared error",
        "y:n x:n",
        "L:",
        "L = 1/N sum[n]((y[n] - x[n])^2)",
        r"L = \frac{1}{N} \sum_{n=1}^{N} (y_n - x_n)^2",
        lambda y, x: F.mse_loss(y, x),
    ),
    Model(
        "ridge penalty",
        "W:i,j y:n x:n lam:",
        "L:",
        "L = sum[n]((y[n] - x[n])^2) + lam/2 sum[i,j](W[i,j]^2)",
        r"L = \sum_n (y_n - x_n)^2 + \frac{\lambda}{2} \|W\|_F^2",
        lambda W, y, x, lam: ((y - x) ** 2).sum() + lam / 2 * (W**2).sum(),
    ),
    Model(
        "hinge loss",
        "s:j c:",
        "L:",
        "L = sum[j](max(0, s[j] - c + 1))",
        r"L = \sum_j \max(0, s_j - c + 1)",
        lambda s, c: relu(s - c + 1).sum(),
    ),
    Model(
        "focal loss",
        "p:n gamma:",
        "L:",
        "L = -sum[n]((1 - p[n])^gamma log(p[n]))",
        r"L = -\sum_n (1 - p_n)^{\gamma} \log p_n",
        lambda p, gamma: -((1 - p) ** gamma * ln(p)).sum(),
    ),
    Model(
        "label smoothing",
        "y:j p:j eps:",
        "L:",
        "L = -sum[j](((1 - eps) y[j] + eps/J) log(p[j]))",
        r"L = -\sum_{j=1}^{K} \left((1 - \epsilon) y_j + \frac{\epsilon}{K}\right) \log p_j",
        lambda y, p, eps: -(((1 - eps) * y + eps / len(y)) * ln(p)).sum(),
    ),
    Model(
        "KL divergence",
        "p:i q:i",
        "D:",
        "D = sum[i](p[i] log(p[i]/q[i]))",
        r"D = \sum_i p_i \log \frac{p_i}{q_i}",
        lambda p, q: (p * ln(p / q)).sum(),
    ),
    Model(
        "entropy",
        "p:t,w",
        "H:t",
        "H[t] = -p[t,W] log(p[t,W])",
        r"H_t = -\sum_w p_{t,w} \ln p_{t,w}",
        lambda p: -(p * ln(p)).sum(1),
    ),
    Model(
        "log-sum-exp",
        "x:i",
        "y:",
        "y = logsumexp[i](x[i])",
        r"y = \log \sum_i \exp(x_i)",
        lambda x: x.logsumexp(0),
    ),
    Model(
        "huber loss",
        "r:n d:",
        "L:",
        "L = sum[n](cases(1/2 r[n]^2 if abs(r[n]) <= d, d (abs(r[n]) - d/2) otherwise))",
        r"L = \sum_n \begin{cases} \frac{1}{2} r_n^2 & \text{if } |r_n| \le d \\ d (|r_n| - \frac{d}{2}) & \text{otherwise} \end{cases}",
        lambda r, d: F.huber_loss(r, 0 * r, reduction="sum", delta=float(d)),
    ),
    Model(
        "contrastive loss (InfoNCE)",
        "s:i,i tau:",
        "L:",
        "L = -1/I sum[i](log(exp(s[i,i]/tau)/sum[j](exp(s[i,j]/tau))))",
        r"L = -\frac{1}{N} \sum_{i=1}^{N} \log \frac{\exp(s_{ii}/\tau)}{\sum_{j=1}^{N} \exp(s_{ij}/\tau)}",
        lambda s, tau: -torch.log_softmax(s / tau, 1).diagonal().mean(),
    ),
    Model(
        "triplet loss",
        "a:i p:i n:i m:",
        "L:",
        "L = max(0, sum[i]((a[i] - p[i])^2) - sum[i]((a[i] - n[i])^2) + m)",
        r"L = \max\left(0, \|a - p\|^2 - \|a - n\|^2 + m\right)",
        lambda a, p, n, m: relu(((a - p) ** 2).sum() - ((a - n) ** 2).sum() + m),
    ),
    # ── embeddings and n-grams ──
    Model(
        "embedding",
        "e:v,i w:b,t<v",
        "x:b,t,i",
        "x[b,t,i] = e[w[b,t],i]",
        r"x_{b,t,i} = e_{w_{b,t}, i}",
        lambda e, w: e[w],
    ),
    Model(
        "one-hot embedding",
        "L:v,d x:t,v",
        "e:t,d",
        "e[t,d] = x[t,V] L[V,d]",
        r"e_t = x_t L",
        lambda L, x: x @ L,
    ),
    Model(
        "neural language model",
        "C:v,i w:t<v H:h,t,i U:v,h d:h b:v",
        "p:v",
        "a[h] = tanh(d[h] + H[h,T,I] C[w[T],I])\np[v] = softmax[v](b[v] + U[v,H] a[H])",
        r"a_h = \tanh\left(d_h + \sum_{t,i} H_{h,t,i} C_{w_t,i}\right), \quad p_v = \frac{\exp(b_v + \sum_h U_{vh} a_h)}{\sum_{u} \exp(b_u + \sum_h U_{uh} a_h)}",
        lambda C, w, H, U, d, b: sm(b + U @ th(d + E("hti,ti->h", H, C[w]))),
    ),
    Model(
        "continuous bag of words",
        "v:w,i u:w,i c:t<w",
        "p:w",
        "m[i] = 1/T v[c[T],i]\np[w] = softmax[w](u[w,I] m[I])",
        r"m_i = \frac{1}{T} \sum_{t=1}^{T} v_{c_t, i}, \quad p_w = \frac{\exp(u_w^\top m)}{\sum_{k} \exp(u_k^\top m)}",
        lambda v, u, c: sm(u @ v[c].mean(0)),
    ),
    Model(
        "skip-gram",
        "u:o,i v:c,i",
        "P:o,c",
        "P[o,c] = exp(u[o,I] v[c,I])/sum[w](exp(u[w,I] v[c,I]))",
        r"P_{oc} = \frac{\exp(u_o^\top v_c)}{\sum_{w} \exp(u_w^\top v_c)}",
        lambda u, v: sm(u @ v.T, 0),
    ),
    Model(
        "negative sampling",
        "u:i v:i n:k,i",
        "J:",
        "J = -log(sigmoid(u[I] v[I])) - sum[k](log(sigmoid(-n[k,I] v[I])))",
        r"J = -\log \sigma(u^T v) - \sum_{k=1}^{K} \log \sigma(-n_k^T v)",
        lambda u, v, n: -F.logsigmoid(u @ v) - F.logsigmoid(-n @ v).sum(),
    ),
    Model(
        "GloVe",
        "w:i,k v:j,k b:i c:j X:i,j f:i,j",
        "J:",
        "J = sum[i,j](f[i,j] (w[i,K] v[j,K] + b[i] + c[j] - log(X[i,j]))^2)",
        r"J = \sum_{i,j} f_{ij} \left(w_i^\top v_j + b_i + c_j - \log X_{ij}\right)^2",
        lambda w, v, b, c, X, f: (f * (w @ v.T + b[:, None] + c - ln(X)) ** 2).sum(),
    ),
    Model(
        "GloVe's weight",
        "X:i,j m:",
        "f:i,j",
        "f[i,j] = min(1, (X[i,j]/m)^0.75)",
        r"f_{ij} = \min\left(1, \left(\frac{X_{ij}}{m}\right)^{0.75}\right)",
        lambda X, m: ((X / m) ** 0.75).clamp(max=1),
    ),
    Model(
        "subword embedding (fastText)",
        "g:s,i m:w,s",
        "v:w,i",
        "v[w,i] = m[w,S] g[S,i]",
        r"v_{w,i} = \sum_{s} m_{w,s} g_{s,i}",
        lambda g, m: m @ g,
    ),
    Model(
        "pointwise mutual information",
        "P:i,j",
        "M:i,j",
        "r[i] = sum[j](P[i,j])\nc[j] = sum[i](P[i,j])\nM[i,j] = log(P[i,j]/(r[i] c[j]))",
        r"M_{ij} = \log \frac{P_{ij}}{\sum_k P_{ik} \sum_k P_{kj}}",
        lambda P: ln(P / (P.sum(1)[:, None] * P.sum(0))),
    ),
    Model(
        "cosine similarity",
        "u:i v:i",
        "s:",
        "s = u[I] v[I]/(sqrt(u[I]^2) sqrt(v[I]^2))",
        r"s = \frac{u^T v}{\|u\| \|v\|}",
        lambda u, v: F.cosine_similarity(u, v, 0),
    ),
    Model(
        "log-bilinear model",
        "C:t,i,i r:v,i w:t<v b:v",
        "p:v",
        "q[i] = C[T,i,J] r[w[T],J]\np[v] = softmax[v](q[I] r[v,I] + b[v])",
        r"q_i = \sum_{t,j} C_{t,i,j} r_{w_t, j}, \quad p_v = \frac{\exp(\sum_i q_i r_{v,i} + b_v)}{\sum_u \exp(\sum_i q_i r_{u,i} + b_u)}",
        lambda C, r, w, b: sm(r @ E("tij,tj->i", C, r[w]) + b),
    ),
    Model(
        "tied softmax",
        "e:v,i h:t,i",
        "P:t,v",
        "P[t,v] = softmax[v](h[t,I] e[v,I])",
        r"P_{t,v} = \underset{v}{\mathrm{softmax}}\left( \sum_i h_{t,i} e_{v,i} \right)",
        lambda e, h: sm(h @ e.T),
    ),
    # ── recurrent networks ──
    Model(
        "Elman network",
        "W:j,k U:j,j x:t,k b:j",
        "h:t,j",
        "h[t,j] = tanh(W[j,K] x[t,K] + U[j,I] h[t-1,I] + b[j])",
        r"h_t = \tanh(W x_t + U h_{t-1} + b)",
        lambda W, U, x, b: scan(lambda t, h: (th(W @ x[t] + U @ h + b),), len(x), z(len(b))),
    ),
    Model(
        "vanilla RNN, entry by entry",
        "W_hh:j,j W_xh:j,k x:t,k B:j",
        "h:t,j",
        "h[-1,j] = 0\nh[t,j] = sigmoid(W_hh[j,I] h[t-1,I] + W_xh[j,K] x[t,K] - B[j])",
        r"h_{t,j} = \sigma\left(\sum_i W^{hh}_{j,i} h_{t-1,i} + \sum_k W^{xh}_{jk} x_{t,k} - B_j\right)",
        lambda W_hh, W_xh, x, B: scan(lambda t, h: (sg(W_hh @ h + W_xh @ x[t] - B),), len(x), z(len(B))),
    ),
    Model(
        "RNN in row vectors",
        "H:j,j I:k,j x:t,k b:j",
        "h:t,j",
        "h[t,j] = sigmoid(h[t-1,K] H[K,j] + x[t,D] I[D,j] + b[j])",
        r"h^{(t)} = \sigma(h^{(t-1)} H + x^{(t)} I + b)",
        lambda H, I, x, b: scan(lambda t, h: (sg(h @ H + x[t] @ I + b),), len(x), z(len(b))),
    ),
    Model(
        "RNN with a start",
        "W:j,j x:t,j s:j",
        "h:t,j",
        "h[-1,j] = s[j]\nh[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])",
        "positions from 1\n"
        + r"h_{0,j} = s_j, \quad h_{t,j} = \tanh\left(\sum_i W_{ji} h_{t-1,i} + x_{t,j}\right)",
        lambda W, x, s: scan(lambda t, h: (th(W @ h + x[t]),), len(x), s),
    ),
    Model(
        "Jordan network",
        "W:j,k U:j,o V:o,j x:t,k",
        "y:t,o",
        "h[t,j] = tanh(W[j,K] x[t,K] + U[j,O] y[t-1,O])\ny[t,o] = V[o,J] h[t,J]",
        r"h_t = \tanh(W x_t + U y_{t-1}), \qquad y_t = V h_t",
        lambda W, U, V, x: scan(lambda t, y: (V @ th(W @ x[t] + U @ y),), len(x), z(len(V))),
    ),
    Model(
        "RNN language model",
        "e:v,i W:j,j U:j,i V:v,j w:t<v",
        "P:t,v",
        "h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] e[w[t],K])\nP[t,v] = softmax[v](V[v,J] h[t,J])",
        r"h_t = \tanh(W h_{t-1} + U e_{w_t}), \quad P_t = \mathrm{softmax}(V h_t)",
        lambda e, W, U, V, w: sm(scan(lambda t, h: (th(W @ h + U @ e[w[t]]),), len(w), z(len(W))) @ V.T),
    ),
    Model(
        "leaky integrator (echo state)",
        "W:j,j U:j,k x:t,k a:",
        "h:t,j",
        "h[t,j] = (1 - a) h[t-1,j] + a tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])",
        r"h_t = (1 - a) h_{t-1} + a \tanh(W h_{t-1} + U x_t)",
        lambda W, U, x, a: scan(lambda t, h: ((1 - a) * h + a * th(W @ h + U @ x[t]),), len(x), z(len(W))),
    ),
    Model(
        "update-gate RNN",
        "W:j,j U:j,k V:j,j Z:j,k x:t,k b:j c:j",
        "h:t,j",
        "G[t,j] = sigmoid(W[j,I] h[t-1,I] + U[j,K] x[t,K] - b[j])\nR[t,j] = tanh(V[j,I] h[t-1,I] + Z[j,K] x[t,K] - c[j])\nh[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]",
        r"G_t = \sigma(W h_{t-1} + U x_t - b), \quad R_t = \tanh(V h_{t-1} + Z x_t - c), \quad h_t = G_t \odot h_{t-1} + (1 - G_t) \odot R_t",
        lambda W, U, V, Z, x, b, c: scan(
            lambda t, h: ((g := sg(W @ h + U @ x[t] - b)) * h + (1 - g) * th(V @ h + Z @ x[t] - c),),
            len(x),
            z(len(b)),
        ),
    ),
    Model(
        "LSTM",
        "W_f:j,c W_i:j,c W_o:j,c W_C:j,c b_f:j b_i:j b_o:j b_C:j x:t,k c=7",
        "h:t,j",
        "a[t,c] = h[t-1,j]; x[t,k]\nf[t,j] = sigmoid(W_f[j,C] a[t,C] + b_f[j])\ni[t,j] = sigmoid(W_i[j,C] a[t,C] + b_i[j])\no[t,j] = sigmoid(W_o[j,C] a[t,C] + b_o[j])\ng[t,j] = tanh(W_C[j,C] a[t,C] + b_C[j])\nc[t,j] = f[t,j] c[t-1,j] + i[t,j] g[t,j]\nh[t,j] = o[t,j] tanh(c[t,j])",
        r"""f_t = \sigma(W_f \cdot [h_{t-1}, x_t] + b_f) \\ i_t = \sigma(W_i \cdot [h_{t-1}, x_t] + b_i) \\ \tilde{C}_t = \tanh(W_C \cdot [h_{t-1}, x_t] + b_C) \\
     C_t = f_t * C_{t-1} + i_t * \tilde{C}_t \\ o_t = \sigma(W_o \cdot [h_{t-1}, x_t] + b_o) \\ h_t = o_t * \tanh(C_t)""",
        lambda W_f, W_i, W_o, W_C, b_f, b_i, b_o, b_C, x: lstm(W_f, W_i, W_o, W_C, b_f, b_i, b_o, b_C, x),
    ),
    Model(
        "LSTM without concatenation",
        "W_f:j,k U_f:j,j b_f:j W_i:j,k U_i:j,j b_i:j W_o:j,k U_o:j,j b_o:j W_c:j,k U_c:j,j b_c:j x:t,k",
        "h:t,j",
        "f[t,j] = sigmoid(W_f[j,K] x[t,K] + U_f[j,I] h[t-1,I] + b_f[j])\ni[t,j] = sigmoid(W_i[j,K] x[t,K] + U_i[j,I] h[t-1,I] + b_i[j])\no[t,j] = sigmoid(W_o[j,K] x[t,K] + U_o[j,I] h[t-1,I] + b_o[j])\nc[t,j] = f[t,j] c[t-1,j] + i[t,j] tanh(W_c[j,K] x[t,K] + U_c[j,I] h[t-1,I] + b_c[j])\nh[t,j] = o[t,j] tanh(c[t,j])",
        r"\begin{aligned} f_t &= \sigma(W_f x_t + U_f h_{t-1} + b_f) \\ i_t &= \sigma(W_i x_t + U_i h_{t-1} + b_i) \\ o_t &= \sigma(W_o x_t + U_o h_{t-1} + b_o) \\ c_t &= f_t \odot c_{t-1} + i_t \odot \tanh(W_c x_t + U_c h_{t-1} + b_c) \\ h_t &= o_t \odot \tanh(c_t) \end{aligned}",
        lambda W_f, U_f, b_f, W_i, U_i, b_i, W_o, U_o, b_o, W_c, U_c, b_c, x: lstm(
            *(torch.cat([U, W], 1) for W, U in ((W_f, U_f), (W_i, U_i), (W_o, U_o), (W_c, U_c))),
            b_f,
            b_i,
            b_o,
            b_c,
            x,
        ),
    ),
    Model(
        "peephole gate",
        "W:j,k p:j x:t,k c:t,j",
        "i:t,j",
        "i[t,j] = sigmoid(W[j,K] x[t,K] + p[j] c[t-1,j])",
        r"i_t = \sigma(W x_t + p \odot c_{t-1})",
        lambda W, p, x, c: sg(x @ W.T + p * torch.cat([0 * c[:1], c[:-1]])),
    ),
    Model(
        "GRU",
        "W_z:j,k U_z:j,j W_r:j,k U_r:j,j W:j,k U:j,j x:t,k",
        "h:t,j",
        "z[t,j] = sigmoid(W_z[j,K] x[t,K] + U_z[j,I] h[t-1,I])\nr[t,j] = sigmoid(W_r[j,K] x[t,K] + U_r[j,I] h[t-1,I])\nn[t,j] = tanh(W[j,K] x[t,K] + U[j,I] (r[t,I] h[t-1,I]))\nh[t,j] = (1 - z[t,j]) h[t-1,j] + z[t,j] n[t,j]",
        r"z_t = \sigma(W_z x_t + U_z h_{t-1}), \quad r_t = \sigma(W_r x_t + U_r h_{t-1}), \quad \tilde h_t = \tanh(W x_t + U (r_t \odot h_{t-1})), \quad h_t = (1 - z_t) \odot h_{t-1} + z_t \odot \tilde h_t",
        lambda W_z, U_z, W_r, U_r, W, U, x: scan(
            lambda t, h: (
                (1 - (g := sg(W_z @ x[t] + U_z @ h))) * h
                + g * th(W @ x[t] + U @ (sg(W_r @ x[t] + U_r @ h) * h)),
            ),
            len(x),
            z(len(U)),
        ),
    ),
    Model(
        "GRU, boldface",
        "W:j,k U:j,j b:j x:t,k",
        "h:t,j",
        "z[t,j] = sigmoid(W[j,K] x[t,K] + b[j])\nh[t,j] = z[t,j] h[t-1,j] + (1 - z[t,j]) tanh(U[j,I] h[t-1,I])",
        r"\boldsymbol{z}_t = \sigma(\mathbf{W}\boldsymbol{x}_t + \boldsymbol{b}), \quad \boldsymbol{h}_t = \boldsymbol{z}_t \odot \boldsymbol{h}_{t-1} + (1 - \boldsymbol{z}_t) \odot \tanh(\mathbf{U} \boldsymbol{h}_{t-1})",
        lambda W, U, b, x: scan(
            lambda t, h: ((g := sg(W @ x[t] + b)) * h + (1 - g) * th(U @ h),), len(x), z(len(b))
        ),
    ),
    Model(
        "backward direction",
        "W:j,k U:j,j x:t,k",
        "h:t,j",
        "h[t,j] = tanh(W[j,K] x[t,K] + U[j,I] h[t+1,I])",
        r"h_t = \tanh(W x_t + U h_{t+1})",
        lambda W, U, x: scan(lambda t, h: (th(W @ x[len(x) - 1 - t] + U @ h),), len(x), z(len(U))).flip(0),
    ),
    Model(
        "bidirectional features",
        "f:t,i g:t,k",
        "h:t,c",
        "h[t,C] = f[t,I]; g[t,K]",
        r"h_t = [f_t; g_t]",
        lambda f, g: torch.cat([f, g], 1),
    ),
    Model(
        "two layers",
        "W:j,k U:j,j V:m,j R:m,m x:t,k",
        "s:t,m",
        "h[t,j] = tanh(W[j,K] x[t,K] + U[j,I] h[t-1,I])\ns[t,m] = tanh(V[m,J] h[t,J] + R[m,N] s[t-1,N])",
        r"h_t = \tanh(W x_t + U h_{t-1}), \quad s_t = \tanh(V h_t + R s_{t-1}).",
        lambda W, U, V, R, x: (
            (h := scan(lambda t, h: (th(W @ x[t] + U @ h),), len(x), z(len(U)))) is not None
            and scan(lambda t, s: (th(V @ h[t] + R @ s),), len(x), z(len(R)))
        ),
    ),
    Model(
        "multiplicative RNN",
        "A:f,k B:f,j C:j,f x:t,k",
        "h:t,j",
        "m[t,f] = (A[f,K] x[t,K]) (B[f,J] h[t-1,J])\nh[t,j] = tanh(C[j,F] m[t,F])",
        r"m_t = (A x_t) \odot (B h_{t-1}), \quad h_t = \tanh(C m_t)",
        lambda A, B, C, x: scan(lambda t, h: (th(C @ ((A @ x[t]) * (B @ h))),), len(x), z(len(C))),
    ),
    Model(
        "linear state space",
        "A:n,n B:n C:n u:t",
        "y:t",
        "x[t,n] = A[n,M] x[t-1,M] + B[n] u[t]\ny[t] = C[N] x[t,N]",
        r"x_t = A x_{t-1} + B u_t, \quad y_t = C^T x_t",
        lambda A, B, C, u: scan(
            lambda t, y, s: (C @ (n := A @ s + B * u[t]), n), len(u), torch.tensor(0.0), z(len(B))
        ),
    ),
    Model(
        "selective state space",
        "a:t,n b:t,n c:t,n u:t",
        "y:t",
        "x[t,n] = exp(a[t,n]) x[t-1,n] + b[t,n] u[t]\ny[t] = c[t,N] x[t,N]",
        r"x_{t,n} = e^{a_{t,n}} x_{t-1,n} + b_{t,n} u_t, \quad y_t = \sum_n c_{t,n} x_{t,n}",
        lambda a, b, c, u: scan(
            lambda t, y, s: (c[t] @ (n := ex(a[t]) * s + b[t] * u[t]), n),
            len(u),
            torch.tensor(0.0),
            z(a.shape[1]),
        ),
    ),
    Model(
        "grid recurrence",
        "W:m,m U:m,m x:i,j,m",
        "h:i,j,m",
        "pad h\nh[i,j,m] = tanh(W[m,N] h[i-1,j,N] + U[m,N] h[i,j-1,N] + x[i,j,m])",
        "pad h\n" + r"h_{i,j} = \tanh(W h_{i-1,j} + U h_{i,j-1} + x_{i,j})",
        lambda W, U, x: grid(W, U, x),
    ),
    # ── attention ──
    Model(
        "scaled dot-product attention",
        "Q:t,k K:s,k V:s,v",
        "A:t,v",
        "a[t,s] = softmax[s](1/sqrt(K) Q[t,K] K[s,K])\nA[t,v] = a[t,S] V[S,v]",
        r"A = \mathrm{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V",
        lambda Q, K, V: sm(Q @ K.T / K.shape[1] ** 0.5) @ V,
    ),
    Model(
        "causal attention",
        "Q:t,k K:t,k V:t,v",
        "y:t,v",
        "a[t,s] = softmax[s <= t](Q[t,I] K[s,I]/sqrt(I))\ny[t,v] = a[t,S] V[S,v]",
        r"a_{ts} = \underset{s \le t}{\mathrm{softmax}} \left( \frac{1}{\sqrt{d_k}} \sum_i Q_{ti} K_{si} \right), \quad y_{tv} = \sum_s a_{ts} V_{sv}",
        lambda Q, K, V: (
            sm((Q @ K.T / K.shape[1] ** 0.5).masked_fill(torch.ones(len(Q), len(Q)).triu(1) > 0, -torch.inf))
            @ V
        ),
    ),
    Model(
        "causal mask by minus infinity",
        "S:t,t",
        "P:t,t",
        "M[i,j] = 0 if j <= i else -inf\nP[i,j] = softmax[j](S[i,j] + M[i,j])",
        r"M_{ij} = \begin{cases} 0 & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases} \quad P_{ij} = \frac{\exp(S_{ij} + M_{ij})}{\sum_k \exp(S_{ik} + M_{ik})}",
        lambda S: sm(S.masked_fill(torch.ones(len(S), len(S)).triu(1) > 0, -torch.inf)),
    ),
    Model(
        "padding mask",
        "S:t,s m:s",
        "P:t,s",
        "P[t,s] = softmax[s](S[t,s] - 1e9 (1 - m[s]))",
        r"P_{ts} = \underset{s}{\mathrm{softmax}}\left( S_{ts} - 10^9 (1 - m_s) \right)",
        lambda S, m: sm(S - 1e9 * (1 - m)),
    ),
    Model(
        "additive attention",
        "W:a,i U:a,j v:a s:i h:t,j",
        "alpha:t",
        "e[t] = v[A] tanh(W[A,I] s[I] + U[A,J] h[t,J])\nalpha[t] = softmax[t](e[t])",
        r"e_t = v^\top \tanh(W s + U h_t), \quad \alpha_t = \frac{\exp(e_t)}{\sum_k \exp(e_k)}",
        lambda W, U, v, s, h: sm(th(W @ s + h @ U.T) @ v),
    ),
    Model(
        "alignment of translation",
        "e:i,j",
        "alpha:i,j",
        "alpha[i,j] = exp(e[i,j])/sum[k](exp(e[i,k]))",
        r"\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_{k=1}^{T_x} \exp(e_{ik})}",
        lambda e: sm(e),
    ),
    Model(
        "context vector",
        "alpha:i,j h:j,k",
        "c:i,k",
        "c[i,k] = alpha[i,J] h[J,k]",
        r"c_i = \sum_{j=1}^{T_x} \alpha_{ij} h_j",
        lambda alpha, h: alpha @ h,
    ),
    Model(
        "general attention score",
        "h:t,i W:i,j s:j",
        "a:t",
        "a[t] = softmax[t](h[t,I] W[I,J] s[J])",
        r"a_t = \frac{\exp(h_t^\top W s)}{\sum_{u} \exp(h_u^\top W s)}",
        lambda h, W, s: sm(h @ W @ s),
    ),
    Model(
        "multi-head attention",
        "X:t,i W_Q:h,i,k W_K:h,i,k W_V:h,i,k W_O:h,k,i",
        "Y:t,i",
        "Q[h,t,k] = X[t,I] W_Q[h,I,k]\nK[h,t,k] = X[t,I] W_K[h,I,k]\nV[h,t,k] = X[t,I] W_V[h,I,k]\nP[h,t,s] = softmax[s](Q[h,t,K] K[h,s,K]/sqrt(K))\nY[t,i] = sum[h,k](sum[s](P[h,t,s] V[h,s,k]) W_O[h,k,i])",
        r"Q_{htk} = \sum_i X_{ti} W^Q_{hik} \\ K_{htk} = \sum_i X_{ti} W^K_{hik} \\ V_{htk} = \sum_i X_{ti} W^V_{hik} \\ P_{hts} = \underset{s}{\mathrm{softmax}}\left(\frac{1}{\sqrt{d_k}} \sum_k Q_{htk} K_{hsk}\right) \\ Y_{ti} = \sum_{h,k} \left(\sum_s P_{hts} V_{hsk}\right) W^O_{hki}",
        lambda X, W_Q, W_K, W_V, W_O: E(
            "hts,hsk,hki->ti",
            sm(E("ti,hik,sj,hjk->hts", X, W_Q, X, W_K) / W_K.shape[2] ** 0.5),
            E("si,hik->hsk", X, W_V),
            W_O,
        ),
    ),
    Model(
        "heads laid end to end",
        "a:h,t,k",
        "c:t,c",
        "c[t,C] = a[0,t,K]; ...; a[H-1,t,K]",
        r"c[t, C] = a[0, t, K]; \ldots ; a[H-1, t, K]",
        lambda a: a.permute(1, 0, 2).flatten(1),
    ),
    Model(
        "grouped heads",
        "Q:h,t,k K:g,s,k g=2 h=4",
        "S:h,t,s",
        "S[h,t,s] = Q[h,t,I] K[h//2,s,I]",
        r"S_{h,t,s} = \sum_i Q_{h,t,i} K_{\lfloor h/2 \rfloor, s, i}",
        lambda Q, K: E("hti,hsi->hts", Q, K.repeat_interleave(2, 0)[: len(Q)]),
    ),
    Model(
        "sinusoidal positions",
        "w:k n:t",
        "p:t,k",
        "p[t,k] = sin(t w[k]) + 0 n[t]",
        r"p_{t,k} = \sin(t w_k) + 0 n_t",
        lambda w, n: torch.sin(torch.arange(len(n), dtype=torch.float64)[:, None] * w),
    ),
    Model(
        "rotary positions",
        "x:t,k y:t,k w:k",
        "r:t,k",
        "r[t,k] = x[t,k] cos(t w[k]) - y[t,k] sin(t w[k])",
        r"r_{t,k} = x_{t,k} \cos(t w_k) - y_{t,k} \sin(t w_k)",
        lambda x, y, w: (
            x * torch.cos(p := torch.arange(len(x), dtype=torch.float64)[:, None] * w) - y * torch.sin(p)
        ),
    ),
    Model(
        "ALiBi",
        "S:t,t m:",
        "P:t,t",
        "P[t,s] = softmax[s <= t](S[t,s] - m (t - s))",
        r"P_{ts} = \underset{s \le t}{\mathrm{softmax}}\left( S_{ts} - m (t - s) \right)",
        lambda S, m: sm(
            (S - m * (torch.arange(len(S))[:, None] - torch.arange(len(S)))).masked_fill(
                torch.ones(len(S), len(S)).triu(1) > 0, -torch.inf
            )
        ),
    ),
    Model(
        "linear attention",
        "Q:t,k K:t,k V:t,v",
        "y:t,v",
        "S[t,k,v] = S[t-1,k,v] + K[t,k] V[t,v]\ny[t,v] = Q[t,K] S[t,K,v]",
        r"S_{t,k,v} = S_{t-1,k,v} + K_{t,k} V_{t,v}, \quad y_{t,v} = \sum_k Q_{t,k} S_{t,k,v}",
        lambda Q, K, V: E("tk,tkv->tv", Q, E("tk,tv->tkv", K, V).cumsum(0)),
    ),
    Model(
        "retention with a decay",
        "q:t k:t v:t gamma:",
        "o:t",
        "o[t] = sum[s <= t](gamma^(t-s) q[t] k[s] v[s])",
        r"o_t = \sum_{s=0}^{t} \gamma^{t-s} q_t k_s v_s",
        lambda q, k, v, gamma: torch.stack(
            [sum(gamma ** (t - s) * q[t] * k[s] * v[s] for s in range(t + 1)) for t in range(len(q))]
        ),
    ),
    Model(
        "pointer-generator",
        "g: P:v a:t m:t,v",
        "y:v",
        "y[v] = g P[v] + (1 - g) a[T] m[T,v]",
        r"y_v = g P_v + (1 - g) \sum_t a_t m_{t,v}",
        lambda g, P, a, m: g * P + (1 - g) * a @ m,
    ),
    Model(
        "low-rank adaptation",
        "W:j,i A:r,i B:j,r x:i s:",
        "y:j",
        "y[j] = W[j,I] x[I] + s B[j,R] A[R,I] x[I]",
        r"y = W x + s B A x",
        lambda W, A, B, x, s: W @ x + s * B @ A @ x,
    ),
    Model(
        "mixture of experts",
        "G:e,i W:e,j,i x:i",
        "y:j",
        "g[e] = softmax[e](G[e,I] x[I])\ny[j] = sum[e](g[e] sum[i](W[e,j,i] x[i]))",
        r"g_e = \frac{\exp(\sum_i G_{ei} x_i)}{\sum_{f} \exp(\sum_i G_{fi} x_i)}, \quad y_j = \sum_{e} g_e \sum_i W_{eji} x_i",
        lambda G, W, x: E("e,eji,i->j", sm(G @ x), W, x),
    ),
    Model(
        "pre-norm feed-forward",
        "x:t,i g:i W:i,i",
        "y:t,i",
        "n[t,i] = g[i] x[t,i]/sqrt(mean[k](x[t,k]^2))\ny[t,i] = x[t,i] + W[i,J] relu(n[t,J])",
        r"n_{t,i} = g_i x_{t,i} \left/ \sqrt{\frac{1}{d} \sum_{k=1}^{d} x_{t,k}^2} \right., \quad y_{t,i} = x_{t,i} + \sum_j W_{ij} \max(0, n_{t,j})",
        lambda x, g, W: x + relu(g * x / (x**2).mean(1, keepdim=True).sqrt()) @ W.T,
    ),
    # ── convolutions and graphs ──
    Model(
        "one-dimensional convolution",
        "W:d,i,j x:t,i B:j",
        "y:u,j",
        "y[u,j] = relu(sum[d,i](W[d,i,j] x[u+d,i]) - B[j])",
        r"y_{u,j} = \max\left(0, \sum_{d,i} W_{d,i,j} x_{u+d,i} - B_j\right)",
        lambda W, x, B: relu(F.conv1d(x.T[None], W.permute(2, 1, 0))[0].T - B),
    ),
    Model(
        "strided convolution",
        "W:d,i,j x:t,i",
        "y:u,j",
        "y[u,j] = sum[d,i](W[d,i,j] x[2*u+d,i])",
        r"y_{u,j} = \sum_{d,i} W_{d,i,j} x_{2u+d,i}",
        lambda W, x: F.conv1d(x.T[None], W.permute(2, 1, 0), stride=2)[0].T,
    ),
    Model(
        "two-dimensional convolution",
        "W:dx,dy,i,j L:x,y,i",
        "M:u,v,j",
        "M[u,v,j] = sum[dx,dy,i](W[dx,dy,i,j] L[u+dx,v+dy,i])",
        r"M_{u,v,j} = \sum_{dx,dy,i} W_{dx,dy,i,j} L_{u+dx,v+dy,i}",
        lambda W, L: F.conv2d(L.permute(2, 0, 1)[None], W.permute(3, 2, 0, 1))[0].permute(1, 2, 0),
    ),
    Model(
        "depthwise convolution",
        "W:d,i x:t,i",
        "y:u,i",
        "y[u,i] = sum[d](W[d,i] x[u+d,i])",
        r"y_{u,i} = \sum_d W_{d,i} x_{u+d,i}",
        lambda W, x: F.conv1d(x.T[None], W.T[:, None], groups=x.shape[1])[0].T,
    ),
    Model(
        "dilated causal convolution",
        "w:d x:t",
        "y:t",
        "pad x\ny[t] = sum[d](w[d] x[t-2*d])",
        "pad x\n" + r"y_t = \sum_d w_d x_{t-2d}",
        lambda w, x: torch.stack(
            [sum(w[d] * (x[t - 2 * d] if t >= 2 * d else 0) for d in range(len(w))) for t in range(len(x))]
        ),
    ),
    Model(
        "max pooling by two",
        "x:t",
        "y:u",
        "y[u] = max(x[2*u], x[2*u+1])",
        r"y_u = \max(x_{2u}, x_{2u+1})",
        lambda x: F.max_pool1d(x[None], 2)[0],
    ),
    Model(
        "max over time",
        "x:t,i",
        "y:i",
        "y[i] = max[t](x[t,i])",
        r"y_i = \max_{t} x_{t,i}",
        lambda x: x.max(0).values,
    ),
    Model(
        "global mean",
        "x:u,v,i",
        "y:i",
        "y[i] = 1/(U V) sum[u,v](x[u,v,i])",
        r"y_i = \frac{1}{UV} \sum_{u=1}^{U} \sum_{v=1}^{V} x_{u,v,i}",
        lambda x: x.mean((0, 1)),
    ),
    Model(
        "graph convolution",
        "A:n,n H:n,i W:i,j",
        "Y:n,j",
        "Y[n,j] = relu(A[n,M] H[M,I] W[I,j])",
        r"Y = \mathrm{ReLU}(A H W)",
        lambda A, H, W: relu(A @ H @ W),
    ),
    Model(
        "normalised adjacency",
        "A:n,n",
        "B:n,n",
        "d[n] = sum[m](A[n,m])\nB[n,m] = A[n,m]/(sqrt(d[n]) sqrt(d[m]))",
        r"B_{nm} = \frac{A_{nm}}{\sqrt{\sum_k A_{nk}} \sqrt{\sum_k A_{mk}}}",
        lambda A: A / (A.sum(1)[:, None] * A.sum(1)).sqrt(),
    ),
    # ── sequences, dynamic programming, filters ──
    Model(
        "exponential moving average",
        "x:t beta:",
        "m:t",
        "m[-1] = 0\nm[t] = beta m[t-1] + (1 - beta) x[t]",
        "positions from 1\n" + r"m_0 = 0, \quad m_t = \beta m_{t-1} + (1 - \beta) x_t",
        lambda x, beta: scan(lambda t, m: (beta * m + (1 - beta) * x[t],), len(x), torch.tensor(0.0)),
    ),
    Model(
        "Adam's correction",
        "m:t beta:",
        "n:t",
        "n[t] = m[t]/(1 - beta^(t+1))",
        "positions from 1\n" + r"n_t = \frac{m_t}{1 - \beta^t}",
        lambda m, beta: m / (1 - beta ** torch.arange(1, len(m) + 1)),
    ),
    Model(
        "discounted return",
        "r:t gamma:",
        "G:t",
        "G[t] = sum[k, t <= k](gamma^(k-t) r[k])",
        r"G_t = \sum_{k=t}^{T} \gamma^{k-t} r_k",
        lambda r, gamma: torch.stack(
            [sum(gamma ** (k - t) * r[k] for k in range(t, len(r))) for t in range(len(r))]
        ),
    ),
    Model(
        "prefix sums",
        "x:t",
        "y:t",
        "y[t] = sum[s <= t](x[s])",
        r"y_t = \sum_{s \le t} x_s",
        lambda x: x.cumsum(0),
    ),
    Model(
        "strict prefix sums",
        "x:t",
        "y:t",
        "y[t] = sum[s < t](x[s]) + 0 x[t]",
        r"y_t = \sum_{s=0}^{t-1} x_s + 0 x_t",
        lambda x: x.cumsum(0) - x,
    ),
    Model(
        "forward algorithm",
        "A:i,i B:t,i p:i",
        "a:t,i",
        "positions from 0\na[0,i] = p[i] B[0,i]\na[t,j] = B[t,j] sum[i](a[t-1,i] A[i,j])",
        "positions from 1\n" + r"a_{1,i} = p_i B_{1,i}, \quad a_{t,j} = B_{t,j} \sum_i a_{t-1,i} A_{ij}",
        lambda A, B, p: torch.stack([r := p * B[0], *(r := (r @ A) * b for b in B[1:])]),
    ),
    Model(
        "Viterbi scores",
        "s:i,i e:t,i",
        "v:t,i",
        "positions from 0\nv[0,i] = e[0,i]\nv[t,j] = e[t,j] + max[i](v[t-1,i] + s[i,j])",
        "positions from 1\n"
        + r"v_{1,i} = e_{1,i}, \quad v_{t,j} = e_{t,j} + \max_i \left( v_{t-1,i} + s_{ij} \right)",
        lambda s, e: torch.stack([r := e[0], *(r := (r[:, None] + s).max(0).values + x for x in e[1:])]),
    ),
    Model(
        "CRF partition",
        "s:i,i e:t,i",
        "a:t,i",
        "positions from 0\na[0,i] = e[0,i]\na[t,j] = e[t,j] + logsumexp[i](a[t-1,i] + s[i,j])",
        "positions from 1\n"
        + r"a_{1,i} = e_{1,i}, \quad a_{t,j} = e_{t,j} + \log \sum_i \exp(a_{t-1,i} + s_{ij})",
        lambda s, e: torch.stack([r := e[0], *(r := (r[:, None] + s).logsumexp(0) + x for x in e[1:])]),
    ),
    Model(
        "Kalman filter, one dimension",
        "x:t q: r:",
        "m:t",
        "p[t] = (v[t-1] + q)\nk[t] = p[t]/(p[t] + r)\nv[t] = (1 - k[t]) p[t]\nm[t] = m[t-1] + k[t] (x[t] - m[t-1])",
        r"p_t = v_{t-1} + q, \quad k_t = \frac{p_t}{p_t + r}, \quad v_t = (1 - k_t) p_t, \quad m_t = m_{t-1} + k_t (x_t - m_{t-1})",
        lambda x, q, r: scan(
            lambda t, m, v: (m + (k := (v + q) / (v + q + r)) * (x[t] - m), (1 - k) * (v + q)),
            len(x),
            torch.tensor(0.0),
            torch.tensor(0.0),
        ),
    ),
    Model(
        "bigram probability",
        "P:v,v w:t<v",
        "L:",
        "L = sum[t >= 1](log(P[w[t-1],w[t]]))",
        "positions from 0\n" + r"L = \sum_{t=1}^{T-1} \log P_{w_{t-1}, w_t}",
        lambda P, w: ln(P[w[:-1], w[1:]]).sum(),
    ),
    Model(
        "coverage penalty",
        "a:t,s",
        "c:",
        "c = sum[s](log(min(sum[t](a[t,s]), 1)))",
        r"c = \sum_{s} \log \min\left(\sum_{t} a_{t,s}, 1\right)",
        lambda a: ln(a.sum(0).clamp(max=1)).sum(),
    ),
    # ── learning ──
    Model(
        "gradient step",
        "W:i,j g:i,j eta:",
        "V:i,j",
        "V[i,j] = W[i,j] - eta g[i,j]",
        r"V = W - \eta g",
        lambda W, g, eta: W - eta * g,
    ),
    Model(
        "momentum",
        "g:t,i mu:",
        "v:t,i",
        "v[t,i] = mu v[t-1,i] + g[t,i]",
        r"v_t = \mu v_{t-1} + g_t",
        lambda g, mu: scan(lambda t, v: (mu * v + g[t],), len(g), z(g.shape[1])),
    ),
    Model(
        "gradient clipping",
        "g:i c:",
        "h:i",
        "n = sqrt(g[I]^2)\nh[i] = g[i] min(1, c/n)",
        r"h = g \min\left(1, \frac{c}{\|g\|}\right)",
        lambda g, c: g * (c / g.norm()).clamp(max=1),
    ),
    Model(
        "slope of a tanh unit",
        "W:j,i x:i",
        "d:j",
        "d[j] = 1 - tanh^2(W[j,I] x[I])",
        r"d_j = 1 - \tanh^2\left(\sum_i W_{ji} x_i\right)",
        lambda W, x: 1 - th(W @ x) ** 2,
    ),
    Model(
        "delta of a sigmoid unit",
        "z:j e:j",
        "d:j",
        "d[j] = sigmoid(z[j]) (1 - sigmoid(z[j])) e[j]",
        r"d_j = \sigma'(z_j) e_j",
        lambda z, e: sg(z) * (1 - sg(z)) * e,
    ),
    Model(
        "policy gradient objective",
        "p:n,t A:n,t",
        "J:",
        "J = 1/N sum[n,t](log(p[n,t]) A[n,t])",
        r"J = \frac{1}{N} \sum_{n=1}^{N} \sum_{t=1}^{T} A_{n,t} \log p_{n,t}",
        lambda p, A: (ln(p) * A).sum() / len(p),
    ),
    Model(
        "clipped ratio (PPO)",
        "r:n A:n eps:",
        "L:",
        "L = 1/N sum[n](min(r[n] A[n], clip(r[n], 1 - eps, 1 + eps) A[n]))",
        r"L = \frac{1}{N} \sum_{n=1}^{N} \min\left(r_n A_n, \mathrm{clip}(r_n, 1 - \epsilon, 1 + \epsilon) A_n\right)",
        lambda r, A, eps: torch.minimum(r * A, r.clamp(1 - float(eps), 1 + float(eps)) * A).mean(),
    ),
    Model(
        "preference loss (DPO)",
        "a:n b:n beta:",
        "L:",
        "L = -1/N sum[n](log(sigmoid(beta (a[n] - b[n]))))",
        r"L = -\frac{1}{N} \sum_{n=1}^{N} \log \sigma\left(\beta (a_n - b_n)\right)",
        lambda a, b, beta: -F.logsigmoid(beta * (a - b)).mean(),
    ),
    Model(
        "variational bound, its KL part",
        "m:i v:i",
        "K:",
        "K = 1/2 sum[i](m[i]^2 + v[i] - log(v[i]) - 1)",
        r"K = \frac{1}{2} \sum_i \left(m_i^2 + v_i - \ln v_i - 1\right)",
        lambda m, v: 0.5 * (m**2 + v - ln(v) - 1).sum(),
    ),
]


def lstm(W_f, W_i, W_o, W_C, b_f, b_i, b_o, b_C, x):
    def step(t, h, c):
        a = torch.cat([h, x[t]])
        c = sg(W_f @ a + b_f) * c + sg(W_i @ a + b_i) * th(W_C @ a + b_C)
        return sg(W_o @ a + b_o) * th(c), c

    return scan(step, len(x), z(len(b_f)), z(len(b_f)))


def grid(W, U, x):
    h = torch.zeros(x.shape[0] + 1, x.shape[1] + 1, x.shape[2], dtype=torch.float64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            h[i + 1, j + 1] = th(W @ h[i, j + 1] + U @ h[i + 1, j] + x[i, j])
    return h[1:, 1:]
