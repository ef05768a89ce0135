r"""Equations that were kept apart from the reader while it was written: as their papers print them, and as people type
them who have read no reference, each in a habit of its own. The same form as in `literature`.
"""

# ruff: noqa: E501 (pages are one line each; names are the mathematics)
from __future__ import annotations

import torch
from literature import E, F, ex, ln, relu, scan, sg, sm, th, z
from literature import Model as M

P = torch.float64


def ar(n):
    return torch.arange(n, dtype=P)


def att(Q, K, V):
    return sm(Q @ K.T / Q.shape[1] ** 0.5) @ V


def rwkv(w, u, k, v):
    n = d = z(len(w))
    out = []
    for t in range(len(k)):
        out.append((n + ex(u + k[t]) * v[t]) / (d + ex(u + k[t])))
        n, d = ex(-w) * n + ex(k[t]) * v[t], ex(-w) * d + ex(k[t])
    return torch.stack(out)


TYPED = [
    M(
        "GRU cho element",
        "W_r:j,k U_r:j,j W_z:j,k U_z:j,j W:j,k U:j,j x:k g:j",
        "h:j",
        "r_j = sigma([W_r x]_j + [U_r g]_j)\nz_j = sigma([W_z x]_j + [U_z g]_j)\nhtilde_j = tanh([W x]_j + [U (r * g)]_j)\nh_j = z_j g_j + (1 - z_j) htilde_j",
        r"r_j = \sigma\left([\mathbf{W}_r\mathbf{x}]_j + [\mathbf{U}_r \mathbf{g}]_j\right) \\ z_j = \sigma\left([\mathbf{W}_z\mathbf{x}]_j + [\mathbf{U}_z \mathbf{g}]_j\right) \\ \tilde{h}_j = \tanh\left([\mathbf{W}\mathbf{x}]_j + [\mathbf{U}(\mathbf{r}\odot \mathbf{g})]_j\right) \\ h_j = z_j g_j + (1-z_j)\tilde{h}_j",
        lambda W_r, U_r, W_z, U_z, W, U, x, g: (lambda zz, r: zz * g + (1 - zz) * th(W @ x + U @ (r * g)))(
            sg(W_z @ x + U_z @ g), sg(W_r @ x + U_r @ g)
        ),
    ),
    M(
        "leaky integrator reservoir",
        "a: W_in:j,k W:j,j x:t,k",
        "h:t,j",
        "h(t) = (1-a) h(t-1) + a tanh(W_in x(t) + W h(t-1))",
        r"\mathbf{h}(t) = (1-a)\,\mathbf{h}(t-1) + a \tanh\left(\mathbf{W}^{\mathrm{in}}\mathbf{x}(t) + \mathbf{W}\mathbf{h}(t-1)\right)",
        lambda a, W_in, W, x: scan(
            lambda t, h: ((1 - a) * h + a * th(W_in @ x[t] + W @ h),), len(x), z(len(W))
        ),
    ),
    M(
        "dot attention with mask",
        "Q:i,d K:j,d V:j,v",
        "O:i,v",
        "A[i,j] = sum_d(Q[i,d]*K[j,d])/sqrt(D) if j <= i else -inf\nP[i,j] = softmax_j(A[i,j])\nO[i,v] = sum_j P[i,j]*V[j,v]",
        r"O = \mathrm{softmax}\left(\frac{QK^\top}{\sqrt{d}} + M\right)V, \quad M_{ij} = \begin{cases} 0 & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}",
        lambda Q, K, V: (
            sm(
                (Q @ K.T / Q.shape[1] ** 0.5).masked_fill(
                    torch.triu(torch.ones(len(Q), len(K)), 1).bool(), -torch.inf
                )
            )
            @ V
        ),
    ),
    M(
        "additive attention pooling",
        "v:n W:n,m h:t,m",
        "c:m",
        "u_t = tanh(W h_t)\na_t = exp(u_t . v) / sum_s exp(u_s . v)\nc = sum_t a_t h_t",
        r"u_t = \tanh(W h_t), \quad a_t = \frac{\exp(u_t^\top v)}{\sum_{s} \exp(u_s^\top v)}, \quad c = \sum_t a_t h_t",
        lambda v, W, h: sm(th(h @ W.T) @ v) @ h,
    ),
    M(
        "linear attention",
        "Q:i,d K:j,d V:j,v",
        "O:i,v",
        "O[i] = sum_j phi(Q[i])^T phi(K[j]) V[j] / sum_j phi(Q[i])^T phi(K[j])\nphi(x) = 1 + relu(x)",
        r"O_i = \frac{\sum_{j} \phi(Q_i)^\top \phi(K_j) V_j}{\sum_{j} \phi(Q_i)^\top \phi(K_j)}, \quad \phi(x) = 1 + \mathrm{ReLU}(x)",
        lambda Q, K, V: (lambda A: A @ V / A.sum(1, keepdim=True))((1 + relu(Q)) @ (1 + relu(K)).T),
    ),
    M(
        "multi-head concat",
        "Q:h,t,d K:h,s,d V:h,s,e W_O:c,m c=6 h=2 e=3",
        "Y:t,m",
        "head[h,t,e] = sum_s softmax_s(sum_d Q[h,t,d] K[h,s,d] / sqrt(D)) V[h,s,e]\nY = Concat(head_1, ..., head_h) W_O",
        r"\mathrm{head}_i = \mathrm{softmax}\left(\frac{Q_i K_i^T}{\sqrt{d}}\right) V_i, \quad Y = \mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_h) W^O",
        lambda Q, K, V, W_O: torch.cat(list(sm(Q @ K.transpose(1, 2) / Q.shape[2] ** 0.5) @ V), 1) @ W_O,
    ),
    M(
        "RMSNorm",
        "x:n g:n eps:",
        "y:n",
        "rms = sqrt(mean(x**2) + eps)\ny_i = x_i / rms * g_i",
        r"y_i = \frac{x_i}{\mathrm{RMS}(x)} g_i, \quad \mathrm{RMS}(x) = \sqrt{\frac{1}{n}\sum_{i=1}^{n} x_i^2 + \epsilon}",
        lambda x, g, eps: x / torch.sqrt((x**2).mean() + eps) * g,
    ),
    M(
        "layer norm vector",
        "x:n gamma:n beta:n eps:",
        "y:n",
        "y = gamma * (x - mean(x)) / sqrt(var(x) + eps) + beta",
        r"y = \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} * \gamma + \beta",
        lambda x, gamma, beta, eps: gamma * (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + eps) + beta,
    ),
    M(
        "weight norm",
        "v:i,j g:i x:j",
        "y:i",
        "w_ij = g_i * v_ij / norm(v_i)\ny_i = sum_j w_ij x_j",
        r"\mathbf{w}_i = \frac{g_i}{\|\mathbf{v}_i\|}\mathbf{v}_i, \quad y_i = \mathbf{w}_i^\top \mathbf{x}",
        lambda v, g, x: (g[:, None] * v / v.norm(dim=1, keepdim=True)) @ x,
    ),
    M(
        "GAE",
        "r:t V:t gamma: lam:",
        "A:t",
        "delta[t] = r[t] + gamma*V[t+1] - V[t]\nA[t] = delta[t] + gamma*lam*A[t+1]",
        r"\delta_t = r_t + \gamma V_{t+1} - V_t, \qquad A_t = \delta_t + \gamma\lambda A_{t+1}",
        lambda r, V, gamma, lam: (
            lambda d: torch.stack(
                [
                    sum(
                        ((gamma * lam) ** (s - t) * d[s] for s in range(t, len(r))),
                        torch.tensor(0.0, dtype=P),
                    )
                    for t in range(len(r))
                ]
            )
        )(r + gamma * torch.cat([V[1:], z(1)]) - V),
    ),
    M(
        "PPO clip",
        "r:t A:t eps:",
        "L:",
        "L = mean_t min(r_t*A_t, clip(r_t, 1-eps, 1+eps)*A_t)",
        r"L = \frac{1}{T}\sum_{t=1}^{T} \min\left(r_t A_t, \mathrm{clip}(r_t, 1-\epsilon, 1+\epsilon) A_t\right)",
        lambda r, A, eps: torch.minimum(r * A, torch.clamp(r, 1 - eps, 1 + eps) * A).mean(),
    ),
    M(
        "MoE",
        "W_g:e,d W:e,f,d x:d",
        "y:f",
        "G = softmax(W_g x)\ny = sum_e G_e W_e x",
        r"G(x) = \mathrm{softmax}(W_g x), \quad y = \sum_{e=1}^{E} G(x)_e\, W_e x",
        lambda W_g, W, x: E("e,efd,d->f", sm(W_g @ x), W, x),
    ),
    M(
        "LoRA",
        "W_0:o,i A:r,i B:o,r x:i alpha:",
        "h:o",
        "h = W_0 x + (alpha/R) B A x",
        r"h = W_0 x + \frac{\alpha}{r} BAx",
        lambda W_0, A, B, x, alpha: W_0 @ x + alpha / len(A) * (B @ (A @ x)),
    ),
    M(
        "distillation",
        "s:k t:k T:",
        "L:",
        "p = softmax(t / T)\nq = softmax(s / T)\nL = T^2 * sum_k p_k (log p_k - log q_k)",
        r"p_k = \frac{e^{t_k/T}}{\sum_j e^{t_j/T}}, \quad q_k = \frac{e^{s_k/T}}{\sum_j e^{s_j/T}}, \quad L = T^2 \sum_k p_k \log\frac{p_k}{q_k}",
        lambda s, t, T: T**2 * (sm(t / T) * (ln(sm(t / T)) - ln(sm(s / T)))).sum(),
    ),
    M(
        "bilinear score",
        "h:t,j W:j,k s:u,k",
        "e:t,u",
        "e[t,u] = h[t].T W s[u]",
        r"e_{tu} = h_t^\top W s_u",
        lambda h, W, s: h @ W @ s.T,
    ),
    M(
        "highway",
        "W_H:j,j W_T:j,j b_H:j b_T:j x:j",
        "y:j",
        "T = sigmoid(W_T x + b_T)\ny = relu(W_H x + b_H)*T + x*(1 - T)",
        r"y = H(x) \cdot T(x) + x \cdot (1 - T(x)), \quad H(x) = \mathrm{ReLU}(W_H x + b_H), \quad T(x) = \sigma(W_T x + b_T)",
        lambda W_H, W_T, b_H, b_T, x: (lambda T: relu(W_H @ x + b_H) * T + x * (1 - T))(sg(W_T @ x + b_T)),
    ),
    M(
        "tied softmax",
        "E:v,d h:t,d b:v",
        "p:t,v",
        "p[t,v] = exp(E[v].h[t] + b[v]) / sum_u exp(E[u].h[t] + b[u])",
        r"p(v \mid t) = \frac{\exp(E_v^\top h_t + b_v)}{\sum_{u} \exp(E_u^\top h_t + b_u)}",
        lambda E, h, b: sm(h @ E.T + b),
    ),
    M(
        "n-gram interpolation",
        "l:k p:k,w",
        "q:w",
        "q(w) = sum_k l_k p_k(w)",
        r"q(w) = \sum_{k=1}^{K} l_k\, p_k(w)",
        lambda l, p: l @ p,
    ),
    M(
        "label bias bigram prob",
        "c:u,v alpha:",
        "p:u,v",
        "p[u,v] = (c[u,v] + alpha) / (sum_v c[u,v] + alpha*V)",
        r"p(v \mid u) = \frac{c(u,v) + \alpha}{\sum_{v'} c(u,v') + \alpha V}",
        lambda c, alpha: (c + alpha) / (c.sum(1, keepdim=True) + alpha * c.shape[1]),
    ),
    M(
        "word dropout expect",
        "x:t,d m:t",
        "y:d",
        "y = (1/sum(m)) * sum_t m_t x_t",
        r"y = \frac{\sum_{t} m_t x_t}{\sum_{t} m_t}",
        lambda x, m: (m @ x) / m.sum(),
    ),
    M(
        "GRU v3 pytorch",
        "W_ir:j,k b_ir:j W_hr:j,j b_hr:j W_in:j,k b_in:j W_hn:j,j b_hn:j W_iz:j,k W_hz:j,j x:t,k",
        "h:t,j",
        "r_t = sigmoid(W_ir x_t + b_ir + W_hr h_(t-1) + b_hr)\nz_t = sigmoid(W_iz x_t + W_hz h_(t-1))\nn_t = tanh(W_in x_t + b_in + r_t * (W_hn h_(t-1) + b_hn))\nh_t = (1 - z_t) * n_t + z_t * h_(t-1)",
        r"\begin{array}{ll} r_t = \sigma(W_{ir} x_t + b_{ir} + W_{hr} h_{(t-1)} + b_{hr}) \\ z_t = \sigma(W_{iz} x_t + W_{hz} h_{(t-1)}) \\ n_t = \tanh(W_{in} x_t + b_{in} + r_t \odot (W_{hn} h_{(t-1)}+ b_{hn})) \\ h_t = (1 - z_t) \odot n_t + z_t \odot h_{(t-1)} \end{array}",
        lambda W_ir, b_ir, W_hr, b_hr, W_in, b_in, W_hn, b_hn, W_iz, W_hz, x: scan(
            lambda t, h: (
                lambda r, zz: ((1 - zz) * th(W_in @ x[t] + b_in + r * (W_hn @ h + b_hn)) + zz * h,)
            )(sg(W_ir @ x[t] + b_ir + W_hr @ h + b_hr), sg(W_iz @ x[t] + W_hz @ h)),
            len(x),
            z(len(b_ir)),
        ),
    ),
    M(
        "RNN output loss",
        "U:j,k W:j,j V:o,j x:t,k y:t<o",
        "L:",
        "s_t = tanh(U x_t + W s_{t-1})\no_t = softmax(V s_t)\nL = -sum_t log o_{t,y_t}",
        r"s_t = \tanh(Ux_t + Ws_{t-1}), \quad o_t = \mathrm{softmax}(Vs_t), \quad L = -\sum_t \log o_{t, y_t}",
        lambda U, W, V, x, y: (
            -ln(
                sm(scan(lambda t, h: (th(U @ x[t] + W @ h),), len(x), z(len(U))) @ V.T)[
                    torch.arange(len(x)), y
                ]
            ).sum()
        ),
    ),
    M(
        "bidirectional concat",
        "W:j,k U:j,j R:j,k Q:j,j x:t,k",
        "y:t,c",
        "f_t = tanh(W x_t + U f_{t-1})\nb_t = tanh(R x_t + Q b_{t+1})\ny_t = [f_t; b_t]",
        r"\overrightarrow{h}_t = \tanh(W x_t + U \overrightarrow{h}_{t-1}) \\ \overleftarrow{h}_t = \tanh(R x_t + Q \overleftarrow{h}_{t+1}) \\ y_t = [\overrightarrow{h}_t ; \overleftarrow{h}_t]",
        lambda W, U, R, Q, x: torch.cat(
            [
                scan(lambda t, h: (th(W @ x[t] + U @ h),), len(x), z(len(W))),
                scan(lambda t, h: (th(R @ x.flip(0)[t] + Q @ h),), len(x), z(len(W))).flip(0),
            ],
            1,
        ),
    ),
    M(
        "attention einsum index",
        "Q:b,h,q,d K:b,h,k,d V:b,h,k,d",
        "O:b,h,q,d",
        "S[b,h,q,k] = sum_d Q[b,h,q,d] * K[b,h,k,d] / sqrt(D)\nP = softmax(S, dim=-1)\nO[b,h,q,d] = sum_k P[b,h,q,k] * V[b,h,k,d]",
        r"O_{bhqd} = \sum_k \mathrm{softmax}_k\left(\frac{1}{\sqrt{D}} \sum_{d'} Q_{bhqd'} K_{bhkd'}\right) V_{bhkd}",
        lambda Q, K, V: sm(Q @ K.transpose(2, 3) / Q.shape[3] ** 0.5) @ V,
    ),
    M(
        "PreNorm block",
        "x:d W_1:f,d W_2:d,f",
        "y:d",
        "n = (x - mean(x)) / std\nstd = sqrt(var(x))\ny = x + W_2 gelu(W_1 n)",
        r"y = x + W_2\, \mathrm{GELU}(W_1 n), \quad n = \frac{x - \mu}{\sigma}, \quad \mu = \frac{1}{d}\sum_{i=1}^{d} x_i, \quad \sigma = \sqrt{\frac{1}{d}\sum_{i=1}^{d}(x_i-\mu)^2}",
        lambda x, W_1, W_2: x + W_2 @ F.gelu(W_1 @ ((x - x.mean()) / x.std(unbiased=False))),
    ),
    M(
        "hinge multiclass",
        "s:n,k y:n<k m:",
        "L:",
        "L = sum_n sum_{k != y_n} max(0, s_{n,k} - s_{n,y_n} + m)",
        r"L = \sum_n \sum_{k \neq y_n} \max(0, s_{n,k} - s_{n,y_n} + m)",
        lambda s, y, m: sum(
            relu(s[n, k] - s[n, y[n]] + m) for n in range(len(s)) for k in range(s.shape[1]) if k != y[n]
        ),
    ),
    M(
        "TD target",
        "Q:s,a r:t gamma: s:t<s a:t<a n:t<s",
        "d:t",
        "d[t] = r[t] + gamma*max_b Q[n[t],b] - Q[s[t],a[t]]",
        r"d_t = r_t + \gamma \max_{b} Q(n_t, b) - Q(s_t, a_t)",
        lambda Q, r, gamma, s, a, n: r + gamma * Q[n].max(1).values - Q[s, a],
    ),
    M(
        "Mamba discretise",
        "Delta:t A:n B:t,n x:t C:t,n",
        "y:t",
        "h[t,n] = exp(Delta[t]*A[n])*h[t-1,n] + Delta[t]*B[t,n]*x[t]\ny[t] = sum_n C[t,n]*h[t,n]",
        r"h_{t,n} = \exp(\Delta_t A_n)\, h_{t-1,n} + \Delta_t B_{t,n} x_t, \quad y_t = \sum_n C_{t,n} h_{t,n}",
        lambda Delta, A, B, x, C: (
            scan(lambda t, h: (ex(Delta[t] * A) * h + Delta[t] * B[t] * x[t],), len(x), z(len(A))) * C
        ).sum(1),
    ),
    M(
        "RWKV wkv",
        "w:d u:d k:t,d v:t,d",
        "a:t,d",
        "num[t] = exp(-w)*num[t-1] + exp(k[t])*v[t]\nden[t] = exp(-w)*den[t-1] + exp(k[t])\na[t] = (num[t-1] + exp(u + k[t])*v[t]) / (den[t-1] + exp(u + k[t]))",
        r"a_{t} = \frac{n_{t-1} + e^{u + k_t} \odot v_t}{d_{t-1} + e^{u+k_t}}, \quad n_t = e^{-w} \odot n_{t-1} + e^{k_t} \odot v_t, \quad d_t = e^{-w} \odot d_{t-1} + e^{k_t}",
        rwkv,
    ),
    M(
        "gated linear attention",
        "q:t,k k:t,k v:t,e a:t,k",
        "o:t,e",
        "S[t,k,e] = a[t,k] S[t-1,k,e] + k[t,k] v[t,e]\no[t,e] = sum_k q[t,k] S[t,k,e]",
        r"S_t = \mathrm{diag}(a_t) S_{t-1} + k_t v_t^\top, \quad o_t = S_t^\top q_t",
        lambda q, k, v, a: E(
            "tke,tk->te",
            scan(
                lambda t, S: (a[t][:, None] * S + torch.outer(k[t], v[t]),),
                len(q),
                torch.zeros(k.shape[1], v.shape[1], dtype=P),
            ),
            q,
        ),
    ),
    M(
        "GCN norm",
        "A:i,i H:i,d W:d,e",
        "Z:i,e",
        "d_i = sum_j A_ij\nZ_i = relu(sum_j A_ij / sqrt(d_i d_j) * H_j W)",
        r"d_i = \sum_j A_{ij}, \quad Z_i = \mathrm{ReLU}\left(\sum_j \frac{A_{ij}}{\sqrt{d_i d_j}} H_j W\right)",
        lambda A, H, W: (lambda d: relu((A / torch.sqrt(d[:, None] * d)) @ H @ W))(A.sum(1)),
    ),
    M(
        "word2vec softmax",
        "V:w,d U:w,d c:n<w o:n<w",
        "J:",
        "J = -sum_n log(exp(U[o[n]].V[c[n]]) / sum_w exp(U[w].V[c[n]]))",
        r"J = -\sum_{n} \log \frac{\exp(U_{o_n}^\top V_{c_n})}{\sum_{w} \exp(U_w^\top V_{c_n})}",
        lambda V, U, c, o: F.cross_entropy(V[c] @ U.T, o, reduction="sum"),
    ),
    M(
        "PPMI",
        "c:i,j",
        "p:i,j",
        "N = sum_ij c_ij\np_ij = max(0, log(c_ij * N / (sum_k c_ik * sum_k c_kj)))",
        r"N = \sum_{i,j} c_{ij}, \quad p_{ij} = \max\left(0, \log\frac{c_{ij} N}{\sum_{k} c_{ik} \sum_{k} c_{kj}}\right)",
        lambda c: relu(ln(c * c.sum() / (c.sum(1, keepdim=True) * c.sum(0)))),
    ),
    M(
        "noisy top gating softmax",
        "W_g:d,e W_n:d,e x:d n:e",
        "G:e",
        "H(x)_i = (x W_g)_i + n_i softplus((x W_n)_i)\nG(x) = softmax(H(x))",
        r"H(x)_i = (x \cdot W_g)_i + n_i \cdot \mathrm{Softplus}\left((x\cdot W_n)_i\right), \quad G(x) = \mathrm{Softmax}(H(x))",
        lambda W_g, W_n, x, n: sm(x @ W_g + n * F.softplus(x @ W_n)),
    ),
    M(
        "Hopfield energy",
        "W:i,i s:i b:i",
        "E:",
        "E = -1/2 sum_{i,j} W_ij s_i s_j + sum_i b_i s_i",
        r"E = -\frac{1}{2}\sum_{i,j} W_{ij}s_is_j + \sum_i b_i s_i",
        lambda W, s, b: -0.5 * s @ W @ s + b @ s,
    ),
    M(
        "IndRNN",
        "W:j,k u:j b:j x:t,k",
        "h:t,j",
        "h[t,j] = relu(sum(W[j,k]*x[t,k]) + u[j]*h[t-1,j] + b[j])",
        r"\mathbf{h}_t = \mathrm{ReLU}(\mathbf{W}\mathbf{x}_t + \mathbf{u} \odot \mathbf{h}_{t-1} + \mathbf{b})",
        lambda W, u, b, x: scan(lambda t, h: (relu(W @ x[t] + u * h + b),), len(x), z(len(b))),
    ),
    M(
        "mLSTM memory",
        "v:t,d k:t,d q:t,d f:t i:t",
        "h:t,d",
        "C_t = f_t C_{t-1} + i_t v_t k_t^T\nh_t = C_t q_t",
        r"C_t = f_t C_{t-1} + i_t v_t k_t^\top, \quad h_t = C_t q_t",
        lambda v, k, q, f, i: E(
            "tab,tb->ta",
            scan(
                lambda t, C: (f[t] * C + i[t] * torch.outer(v[t], k[t]),),
                len(v),
                torch.zeros(v.shape[1], v.shape[1], dtype=P),
            ),
            q,
        ),
    ),
    M(
        "stacked two layers",
        "W:j,k U:j,j V:m,j R:m,m x:t,k",
        "g:t,m",
        "h(t) = tanh(W x(t) + U h(t-1))\ng(t) = tanh(V h(t) + R g(t-1))",
        r"h^{(t)} = \tanh\left(W x^{(t)} + U h^{(t-1)}\right), \quad g^{(t)} = \tanh\left(V h^{(t)} + R g^{(t-1)}\right)",
        lambda W, U, V, R, x: (lambda h: scan(lambda t, g: (th(V @ h[t] + R @ g),), len(x), z(len(V))))(
            scan(lambda t, h: (th(W @ x[t] + U @ h),), len(x), z(len(W)))
        ),
    ),
    M(
        "Luong general",
        "W_a:j,m h:t,j s:u,m",
        "c:t,m",
        "score[t,u] = h[t].T @ W_a @ s[u]\na[t,u] = exp(score[t,u])/sum_v exp(score[t,v])\nc[t] = sum_u a[t,u]*s[u]",
        r"a_t(u) = \frac{\exp\left(h_t^\top W_a s_u\right)}{\sum_{u'} \exp\left(h_t^\top W_a s_{u'}\right)}, \quad c_t = \sum_u a_t(u)\, s_u",
        lambda W_a, h, s: sm(h @ W_a @ s.T) @ s,
    ),
    M(
        "multihead with projections",
        "X:t,m W_Q:h,m,d W_K:h,m,d W_V:h,m,d W_O:c,m h=2 d=3 c=6 m=4",
        "Y:t,m",
        "Q_i = X W_Q[i]\nK_i = X W_K[i]\nV_i = X W_V[i]\nhead_i = softmax(Q_i K_i^T / sqrt(d)) V_i\nY = [head_1, ..., head_h] W_O",
        r"\mathrm{head}_i = \mathrm{softmax}\left(\frac{(X W_i^Q)(X W_i^K)^\top}{\sqrt{d}}\right) X W_i^V, \qquad Y = \left[\mathrm{head}_1; \ldots; \mathrm{head}_h\right] W^O",
        lambda X, W_Q, W_K, W_V, W_O: (
            torch.cat(
                [
                    sm((X @ W_Q[i]) @ (X @ W_K[i]).T / W_Q.shape[2] ** 0.5) @ (X @ W_V[i])
                    for i in range(len(W_Q))
                ],
                1,
            )
            @ W_O
        ),
    ),
    M(
        "dynamic tanh",
        "x:t,d a: g:d b:d",
        "y:t,d",
        "y = g * tanh(a*x) + b",
        r"y = g * \tanh(a x) + b",
        lambda x, a, g, b: g * th(a * x) + b,
    ),
    M(
        "NLL of LM",
        "E:v,d w:t<v U:v,d",
        "L:",
        "z[t,v] = sum_d E[w[t],d] * U[v,d]\nL = -1/T * sum_t (z[t,w[t]] - logsumexp_v(z[t,v]))",
        r"z_t = U E_{w_t}, \quad L = -\frac{1}{T}\sum_{t=1}^{T}\left(z_{t,w_t} - \log\sum_{v} e^{z_{t,v}}\right)",
        lambda E, w, U: F.cross_entropy(E[w] @ U.T, w),
    ),
    M(
        "z-loss",
        "z:t,v a:",
        "L:",
        "L = a * mean_t(log(sum_v exp(z[t,v]))^2)",
        r"L = \frac{a}{T}\sum_t \left(\log \sum_v e^{z_{t,v}}\right)^2",
        lambda z, a: a * (torch.logsumexp(z, 1) ** 2).mean(),
    ),
    M(
        "SigLIP",
        "x:i,d y:i,d t: b: l:i,i",
        "L:",
        "L = -1/N sum_i sum_j log(1/(1 + exp(l_ij*(-t*x_i.y_j - b))))",
        r"L = -\frac{1}{N}\sum_{i=1}^{N}\sum_{j=1}^{N} \log\frac{1}{1+e^{l_{ij}(-t\, x_i^\top y_j - b)}}",
        lambda x, y, t, b, l: -ln(1 / (1 + ex(l * (-t * (x @ y.T) - b)))).sum() / len(x),
    ),
    M(
        "policy softmax",
        "theta:a,d x:s,d",
        "pi:s,a",
        "pi(s,a) = exp(theta_a . x_s) / sum_b exp(theta_b . x_s)",
        r"\pi(a \mid s) = \frac{e^{\theta_a^\top x_s}}{\sum_b e^{\theta_b^\top x_s}}",
        lambda theta, x: sm(x @ theta.T),
    ),
    M(
        "S4D diagonal",
        "a:n b:n c:n u:t",
        "y:t",
        "x[t,n] = a[n]*x[t-1,n] + b[n]*u[t]\ny[t] = sum(c[n]*x[t,n])",
        r"x_t = \mathrm{diag}(a)\, x_{t-1} + b\, u_t, \quad y_t = c^\top x_t",
        lambda a, b, c, u: scan(lambda t, x: (a * x + b * u[t],), len(u), z(len(a))) @ c,
    ),
    M(
        "retention",
        "Q:n,d K:n,d V:n,e gamma:",
        "O:n,e",
        "O[n,e] = sum_{m<=n} gamma^(n-m) * sum_d(Q[n,d]*K[m,d]) * V[m,e]",
        r"O_n = \sum_{m \le n} \gamma^{n-m}\left(Q_n K_m^\top\right)V_m",
        lambda Q, K, V, gamma: (
            (torch.tril(Q @ K.T * gamma ** ((ar(len(Q))[:, None] - ar(len(Q))).clamp(min=0)))) @ V
        ),
    ),
    M(
        "IA3",
        "l:d K:t,d q:s,d",
        "a:s,t",
        "a = softmax(q (l * K)^T / sqrt(d))",
        r"a = \mathrm{softmax}\left(\frac{q (l \odot K)^\top}{\sqrt{d}}\right)",
        lambda l, K, q: sm(q @ (l * K).T / q.shape[1] ** 0.5),
    ),
    M(
        "skip-gram average",
        "U:v,d V:v,d c:t<v o:t,j<v",
        "J:",
        "J = 1/T sum_t sum_j -log(exp(U[o[t,j]].V[c[t]]) / sum_v exp(U[v].V[c[t]]))",
        r"J = -\frac{1}{T}\sum_{t=1}^{T}\sum_{j} \log\frac{\exp(U_{o_{t,j}}^\top V_{c_t})}{\sum_{v}\exp(U_v^\top V_{c_t})}",
        lambda U, V, c, o: -(ln(sm(V[c] @ U.T)).gather(1, o)).sum() / len(c),
    ),
    M(
        "Brier",
        "p:n,k y:n<k",
        "B:",
        "B = 1/N * sum_n sum_k (p[n,k] - [y[n] == k])^2",
        r"B = \frac{1}{N}\sum_{n=1}^{N}\sum_{k=1}^{K}\left(p_{nk} - \mathbb{1}[y_n = k]\right)^2",
        lambda p, y: ((p - F.one_hot(y, p.shape[1])) ** 2).sum() / len(p),
    ),
]
