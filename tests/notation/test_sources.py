r"""Every displayed equation of the five problem sets, as it is printed there.

Three lists: those that parse and check; those that parse and are refused by `check` with the right complaint
(most are the sources' own errata); those that are no equation of this language, with the sentence they get.
"""

# ruff: noqa: E501 (the lines are the sources' own)
import pytest
import torch

from coursekit.notation import Equations, NotationError
from coursekit.notation.check.checker import check
from coursekit.notation.parse.parser import parse
from coursekit.notation.show import show

# name -> (LaTeX as printed, canonical ASCII)
RIGHT = {
    "0.2 gate": (
        r"$$G[b, t, j] = \sigma(W^{h,G}[j, I]h[b, t-1, I] + W^{x,G}[j, K]x[b, t, K] - B^G[j])$$",
        "G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])",
    ),
    "0.2 candidate": (
        r"$$R[b, t, j] = \tanh(W^{h,R}[j, I]h[b, t-1, I] + W^{x,R}[j, K]x[b, t, K] - B^R[j])$$",
        "R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])",
    ),
    "0.2 update": (
        r"$$h[b, t, j] = G[b, t, j]h[b, t-1, j] + (1 - G[b, t, j])R[b, t, j]$$",
        "h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]",
    ),
    "0.2 solution G1": (
        r"$$G_1[b, t, j] = \sigma(W^{h,G_1}[j, I]h[b, t-1, I] + W^{x,G_1}[j, K]x[b, t, K] - B^{G_1}[j])$$",
        "G_1[b,t,j] = sigmoid(W_hG1[j,I] h[b,t-1,I] + W_xG1[j,K] x[b,t,K] - B_G1[j])",
    ),
    "0.2 solution h' (E0-1: right in form)": (
        r"$$h'[b, t, j] = G_1[b, t, j]x[b, t, j]$$",
        "h'[b,t,j] = G_1[b,t,j] x[b,t,j]",
    ),
    "0.2 solution G2": (
        r"$$G_2[b, t, j] = \sigma(W^{h,G_2}[j, I]h[b, t-1, I] + W^{x,G_2}[j, K]x[b, t, K] - B^{G_2}[j])$$",
        "G_2[b,t,j] = sigmoid(W_hG2[j,I] h[b,t-1,I] + W_xG2[j,K] x[b,t,K] - B_G2[j])",
    ),
    "0.2 solution R": (
        r"$$R[b, t, j] = \tanh(W^{h,R}[j, I]\tilde{h}[b, t-1, I] + W^{x,R}[j, K]h'[b, t, K] - B^R[j])$$",
        "R[b,t,j] = tanh(W_hR[j,I] h_tilde[b,t-1,I] + W_xR[j,K] h'[b,t,K] - B_R[j])",
    ),
    "0.2 solution h": (
        r"$$h[b, t, j] = (1 - G_2[b, t, j])h[b, t-1, j] + G_2[b, t, j]R[b, t, j]$$",
        "h[b,t,j] = (1 - G_2[b,t,j]) h[b,t-1,j] + G_2[b,t,j] R[b,t,j]",
    ),
    "0.3 blank language model": (
        r"""$$\begin{aligned} & P_{\Phi}(w_t | w_1, \dots, w_{t-1}, w_{t+1}, \dots, w_T) \\ &= \underset{w_t}{\text{softmax}}
        \quad e[w_t, I] \vec{W}[I, J] \vec{h}[t-1, J] + e[w_t, I] \tilde{W}[I, J] \tilde{h}[t+1, J] \end{aligned}$$""",
        "P[t,wt] = softmax[wt](e[wt,I] W_vec[I,J] h_vec[t-1,J] + e[wt,I] W_tilde[I,J] h_tilde[t+1,J])",
    ),
    "0.4 word": (
        r"$$P(w_t \mid w_0, \dots, w_{t-1}) = \underset{w_t}{\text{softmax}} e[w_t, I] W^{\text{auto}}[I, J] h[t-1, J]$$",
        "P[t,wt] = softmax[wt](e[wt,I] W_auto[I,J] h[t-1,J])",
    ),
    "0.4 context alone": (
        r"$$V[K] = \sum_{x, y} \alpha[x, y] M[x, y, K]$$",
        "V[k] = sum[x,y](alpha[x,y] M[x,y,k])",
    ),
    "0.4 cell": (
        r"$$h[t, J] = \text{CELL}_{\Phi}(h[t-1, J], V[K], e[w_t, I])$$",
        "h[t,J] = CELL(h[t-1,J], V[K], e[w[t],I])",
    ),
    "0.5 UGRNN, time as a subscript": (
        r"""$$\tilde{R}_t[b, j] = \left( \sum_i W^{h, R}[j, i] h_{t-1}[b, i] \right) + \left( \sum_k W^{x, R}[j, k] x_t[b, k] \right) - B^R[j]$$
        $$R_t[b, j] = \tanh(\tilde{R}_t[b, j])$$
        $$\tilde{G}_t[b, j] = \left( \sum_i W^{h, G}[j, i] h_{t-1}[b, i] \right) + \left( \sum_k W^{x, G}[j, k] x_t[b, k] \right) - B^G[j]$$
        $$G_t[b, j] = \sigma(\tilde{G}_t[b, j])$$
        $$h_t[b, j] = G_t[b, j] h_{t-1}[b, j] + (1 - G_t[b, j]) R_t[b, j]$$""",
        "R_tilde[t,b,j] = sum[i](W_hR[j,i] h[t-1,b,i]) + sum[k](W_xR[j,k] x[t,b,k]) - B_R[j]\n"
        "R[t,b,j] = tanh(R_tilde[t,b,j])\n"
        "G_tilde[t,b,j] = sum[i](W_hG[j,i] h[t-1,b,i]) + sum[k](W_xG[j,k] x[t,b,k]) - B_G[j]\n"
        "G[t,b,j] = sigmoid(G_tilde[t,b,j])\n"
        "h[t,b,j] = G[t,b,j] h[t-1,b,j] + (1 - G[t,b,j]) R[t,b,j]",
    ),
    "0.5 solution": (
        r"""$$\Phi = (W_{\ell+1}^{L, R}[\Delta x, \Delta y, j, j'], B_{\ell+1}^R[j], W_{\ell+1}^{L, G}[\Delta x, \Delta y, j, j'], B_{\ell+1}^G[j])$$
        $$R_{\ell+1}[b, x, y, j] = \tanh \left( \left( \sum_{\Delta x, \Delta y, j'} W_{\ell+1}^{L, R}[\Delta x, \Delta y, j', j] L_{\ell}[b, x + \Delta x, y + \Delta y, j'] \right) - B_{\ell+1}^R[j] \right)$$
        $$G_{\ell+1}[b, x, y, j] = \sigma \left( \left( \sum_{\Delta x, \Delta y, i} W_{\ell+1}^{L, G}[\Delta x, \Delta y, i, j] L_{\ell}[b, x + \Delta x, y + \Delta y, i] \right) - B_{\ell+1}^G[j] \right)$$
        $$L_{\ell+1}[b, x, y, j] = G_{\ell+1}[b, x, y, j] L_{\ell}[b, x, y, j] + (1 - G_{\ell+1}[b, x, y, j]) R_{\ell+1}[b, x, y, j]$$""",
        "parameters W_LR_{l+1}, B_R_{l+1}, W_LG_{l+1}, B_G_{l+1}\n"
        "R_{l+1}[b,x,y,j] = tanh(sum[dx,dy,j'](W_LR_{l+1}[dx,dy,j',j] L_l[b,x+dx,y+dy,j']) - B_R_{l+1}[j])\n"
        "G_{l+1}[b,x,y,j] = sigmoid(sum[dx,dy,i](W_LG_{l+1}[dx,dy,i,j] L_l[b,x+dx,y+dy,i]) - B_G_{l+1}[j])\n"
        "L_{l+1}[b,x,y,j] = G_{l+1}[b,x,y,j] L_l[b,x,y,j] + (1 - G_{l+1}[b,x,y,j]) R_{l+1}[b,x,y,j]",
    ),
    "1 eq 5": (
        r"$$p(x_{t+1} = v_j | x_t, \dots, x_1) = \hat{y}_j^{(t)} \quad (5)$$",
        "p[t] = y_hat_j[t]",
    ),
    "1 eq 7": (
        r"$$J^{(t)}(\theta) = CE(y^{(t)}, \hat{y}^{(t)}) = - \sum_{i=1}^{|V|} y_i^{(t)} \log \hat{y}_i^{(t)} \quad (7)$$",
        "J[t] = -sum[i](y[t,i] log(y_hat[t,i]))",
    ),
    "1 eq 12": (
        r"$$\frac{\partial J}{\partial z} = \frac{\partial CE}{\partial z} = \hat{y} - y \quad (12)$$",
        "dJ_dz = y_hat - y",
    ),
    "1 eq 13": (r"$$z_k = \sum_{l=1}^n x_l W_{lk} \quad (13)$$", "z[k] = sum[l](x[l] W[l,k])"),
    "1 eq 14": (
        r"$$\frac{\partial z_k}{\partial W_{ij}} = \sum_{l=1}^n x_l \frac{\partial W_{lk}}{\partial W_{ij}} \quad (14)$$",
        "dz_dW[k,i,j] = sum[l](x[l] dW_dW[l,k,i,j])",
    ),
    "1 eq 15": (
        r"$$\frac{\partial W_{lk}}{\partial W_{ij}} = \begin{cases} 1 & \text{if } i = l \text{ and } j = k \\ 0 & \text{otherwise} \end{cases} \quad (15)$$",
        "dW_dW[l,k,i,j] = cases(1 if i == l and j == k, 0 otherwise)",
    ),
    "1 eq 18": (
        r"$$\forall (i, j) \in [1, n] \times [1, m] \quad \frac{\partial J}{\partial W_{ij}} = \frac{\partial z}{\partial W_{ij}} \frac{\partial J}{\partial z} = \sum_{k=1}^m \frac{\partial z_k}{\partial W_{ij}} \left(\frac{\partial J}{\partial z} \right)_k = x_i \left(\frac{\partial J}{\partial z} \right)_j \quad (18)$$",
        "dJ_dW[i,j] = x[i] dJ_dz[j]",
    ),
    "1 eq 20": (
        r"$$PP^{(t)}(y^{(t)}, \hat{y}^{(t)}) = \frac{1}{p(x_{t+1}^{pred} = x_{t+1} | x_t, \dots, x_1)} = \frac{1}{\sum_{j=1}^{|V|} y_j^{(t)} \cdot \hat{y}_j^{(t)}} \quad (20)$$",
        "PP[t] = 1/sum[j](y[t,j] y_hat[t,j])",
    ),
    "1 eq 24": (
        r"$$\delta^{(t-1)} = \frac{\partial J^{(t)}}{\partial h^{(t-1)}} \quad (24)$$",
        "delta[t-1] = dJ_dh[t,t-1]",
    ),
    "2.1 total, focus": (
        r"$\mathcal{L}_{total} = \mathcal{L}_{LM} + \lambda \mathcal{L}_{focus}$",
        "L_total = L_LM + lambda L_focus",
    ),
    "2.1 focus": (
        r"""$$\begin{aligned} \mathcal{L}_{\text{focus}} &= \frac{1}{KTL} \sum_{\ell,k,t_1} H(k,t_1,T_2) \\ &= \frac{1}{KTL} \sum_{\ell,k,t_1} \sum_{t_2} \alpha[\ell,k,t_1,t_2](-\ln \alpha[\ell,k,t_1,t_2]) \end{aligned}$$""",
        "L_focus = 1/(K T L) sum[l,k,t1](sum[t2](alpha[l,k,t1,t2] (-log(alpha[l,k,t1,t2]))))",
    ),
    "2.1 near": (
        r"$$\mathcal{L}_{\text{near}} = \frac{1}{KT(L-1)} \sum_{k,t_1,0 \le \ell \le L-2} \min\left( L_{\max}, \sum_{t_2} \alpha[\ell,k,t_1,t_2](t_1-t_2)^2 \right)$$",
        "L_near = 1/(K T * (L - 1)) sum[k,t1,l, 0 <= l, l <= L-2]"
        "(min(L_max, sum[t2](alpha[l,k,t1,t2] (t1 - t2)^2)))",
    ),
    "2.2 temperature": (
        r"$$\alpha[\ell, t, w] = \underset{w}{\text{softmax}} \quad \beta \ h[\ell, t, I]e[w, I] \tag{1}$$",
        "alpha[l,t,w] = softmax[w](beta h[l,t,I] e[w,I])",
    ),
    "2.2 attention": (
        r"$$\alpha[\ell, k, t_1, t_2] = \operatorname{softmax}_{t_2} \frac{1}{\sqrt{I}} \operatorname{Query}[\ell, k, t_1, I] \operatorname{Key}[\ell, k, t_2, I]$$",
        "alpha[l,k,t1,t2] = softmax[t2](1/sqrt(I) Query[l,k,t1,I] Key[l,k,t2,I])",
    ),
    "2.3 merged matrix": (
        r"$$\alpha[\ell, k, t_1, t_2] = \operatorname{softmax}_{t_2} \frac{1}{\sqrt{I}} L[\ell, t_1, J] W^{QK}[\ell, k, J, J'] L[\ell, t_2, J']$$"
        "\n"
        r"$$w^{QK}[\ell, k, j_1, j_2] = W^{Q}[\ell, k, I, j_1] W^{K}[\ell, k, I, j_2]$$",
        "alpha[l,k,t1,t2] = softmax[t2](1/sqrt(I) L[l,t1,J] W_QK[l,k,J,J'] L[l,t2,J'])\n"
        "w_QK[l,k,j1,j2] = W_Q[l,k,I,j1] W_K[l,k,I,j2]",
    ),
    "2.5 self-attention": (
        r"""$$\begin{aligned} \text{Query}_{\ell+1}[k, t, i] &= W_{\ell+1}^Q[k, i, J] L_{\ell}[t, J] \\
        \text{Key}_{\ell+1}[k, t, i] &= W_{\ell+1}^K[k, i, J] L_{\ell}[t, J] \\
        \alpha_{\ell+1}[k, t_1, t_2] &= \operatorname{softmax}_{t_2} \left[ \frac{1}{\sqrt{I}} \operatorname{Query}_{\ell+1}[k, t_1, I] \operatorname{Key}_{\ell+1}[k, t_2, I] \right] \end{aligned}$$""",
        "Query_{l+1}[k,t,i] = W_Q_{l+1}[k,i,J] L_l[t,J]\n"
        "Key_{l+1}[k,t,i] = W_K_{l+1}[k,i,J] L_l[t,J]\n"
        "alpha_{l+1}[k,t1,t2] = softmax[t2](1/sqrt(I) Query_{l+1}[k,t1,I] Key_{l+1}[k,t2,I])",
    ),
    "2.5a": (
        r"$$\alpha_{\ell+1}(k, t_1, t_2) = \text{softmax}_{t_2} \left[ L_{\ell}[t_1, J_1] \tilde{W}^Q[k, J_1, J_2] L_{\ell}[t_2, J_2] \right]$$",
        "alpha_{l+1}[k,t1,t2] = softmax[t2](L_l[t1,J1] W_tilde_Q[k,J1,J2] L_l[t2,J2])",
    ),
    "2.5a solution": (
        r"$$\tilde{W}^{Q}[k,j_{1},j_{2}] = \frac{1}{\sqrt{I}} W^{Q}[k,I,j_{1}] W^{k}[k,I,j_{2}]$$",
        "W_tilde_Q[k,j1,j2] = 1/sqrt(I) W_Q[k,I,j1] W_k[k,I,j2]",
    ),
    "1 eq 17": (
        r"$$z_m = x_1 w_{1m} + \dots + x_n w_{nm} = \sum_{l=1}^n x_l w_{lm}$$",
        "z[m] = sum[l](x[l] w[l,m])",
    ),
    "3.3b average": (
        r"$$\Delta = u_j - U \hat{y} = U(y - \hat{y}) = \frac{1}{d} \sum_{i=1}^d d(y_i - \hat{y}_i) u_i.$$",
        "Delta = 1/I sum[i](I * (y[i] - y_hat[i]) u[i])",
    ),
    "4 word": (
        r"$$P_{\Phi}(w_t \mid w_0, \dots, w_{t-1}) = \underset{w_t}{\text{softmax}} e(w_t)[I]h[t-1, I]$$",
        "P[t,wt] = softmax[wt](e[wt,I] h[t-1,I])",
    ),
    "4 vanilla RNN": (
        r"$$h[t, j] = \sigma (W^{h,h}[j, I]h[t-1, I] + W^{x,h}[j, K]x[t, K] - B[j])$$",
        "h[t,j] = sigmoid(W_hh[j,I] h[t-1,I] + W_xh[j,K] x[t,K] - B[j])",
    ),
    "4 gated (E4-1: G_t is another tensor)": (
        r"$$h[t, j] = G_t[t, j]h[t-1, j] + (1 - G[t, j])R[t, j]$$",
        "h[t,j] = G_t[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]",
    ),
    "4 UGRNN": (
        r"""$$R[t, j] = \tanh (W^{h,R}[j, I]h[t-1, I] + W^{x,R}[j, K]x[t, K] - B^R[j])$$
        $$G[t, j] = \sigma (W^{h,G}[j, I]h[t-1, I] + W^{x,G}[j, K]x[t, K] - B^G[j])$$
        $$h[t, j] = G[t, j]h[t-1, j] + (1 - G[t, j])R[t, j]$$
        $$\Phi = (W^{h,R}, W^{x,R}, B^R, W^{h,G}, W^{x,G}, B^G)$$""",
        "R[t,j] = tanh(W_hR[j,I] h[t-1,I] + W_xR[j,K] x[t,K] - B_R[j])\n"
        "G[t,j] = sigmoid(W_hG[j,I] h[t-1,I] + W_xG[j,K] x[t,K] - B_G[j])\n"
        "h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]\n"
        "parameters W_hR, W_xR, B_R, W_hG, W_xG, B_G",
    ),
    "4 Hadamard": (
        r"$$h[t, J] = G[t, J] \odot h[t-1, J] + (1 - G[t, J]) \odot R[t, J]$$",
        "h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]",
    ),
    "4 cross-attention": (
        r"$$\text{Attention } \alpha[t_{\text{out}}, t_{\text{in}}] = \text{softmax}_{t_{\text{in}}} e(w_{t_{\text{out}}})[N] h_{\text{in}}(t_{\text{in}})[N]$$",
        "alpha[tout,tin] = softmax[tin](e[w[tout],N] h_in[tin,N])",
    ),
    "4 weighted sum": (
        r"$$\text{Weighted Sum : } \tilde{h}_{\text{out}}(t_{\text{out}}) = \alpha[t_{\text{out}}, T_{\text{in}}] h_{\text{in}}(T_{\text{in}})$$",
        "h_tilde_out[tout] = alpha[tout,Tin] h_in[Tin]",
    ),
    "4 query": (
        r"$$\text{Query}_{\ell+1}[k, t, i] = W_{\ell+1}^{\text{query}}[k, i, J]L_{\ell}[t, J]$$",
        "Query_{l+1}[k,t,i] = W_query_{l+1}[k,i,J] L_l[t,J]",
    ),
    "4 key": (
        r"$$\text{Key}_{\ell+1}[k, t, i] = W_{\ell+1}^{\text{key}}[k, i, J]L_{\ell}[t, J]$$",
        "Key_{l+1}[k,t,i] = W_key_{l+1}[k,i,J] L_l[t,J]",
    ),
    "4 attention": (
        r"$$\alpha_{\ell+1}[k, t_1, t_2] = \text{softmax}_{t_2} \frac{1}{\sqrt{I}} \text{Query}_{\ell+1}[k, t_1, I] \text{Key}_{\ell+1}[k, t_2, I]$$",
        "alpha_{l+1}[k,t1,t2] = softmax[t2](1/sqrt(I) Query_{l+1}[k,t1,I] Key_{l+1}[k,t2,I])",
    ),
    "4 value": (
        r"$$\text{Value}_{\ell+1}[k, t, i] = W_{\ell+1}^V[k, i, J]L_{\ell}[t, J]$$",
        "Value_{l+1}[k,t,i] = W_V_{l+1}[k,i,J] L_l[t,J]",
    ),
    "4 heads": (
        r"$$\tilde{h}_{\ell+1}[k, t, i] = \alpha[k, t, T]\text{Value}[k, T, i]$$",
        "h_tilde_{l+1}[k,t,i] = alpha[k,t,T] Value[k,T,i]",
    ),
    "4 concatenation": (
        r"$$\hat{h}_{\ell+1}[t, C] = \tilde{h}_{\ell+1}[0, t, I]; \cdots ; \tilde{h}_{\ell+1}[K - 1, t, I]$$",
        "h_hat_{l+1}[t,c] = concat[K,I](h_tilde_{l+1}[K,t,I])",
    ),
    "4 output matrix": (
        r"$$L_{\ell+1}^{SA}[t, j] = W_{\ell+1}^0[j, C]\hat{h}_{\ell+1}[t, C]$$",
        "L_SA_{l+1}[t,j] = W_0_{l+1}[j,C] h_hat_{l+1}[t,C]",
    ),
    "4 feed-forward 1": (
        r"$$h_{\ell+1}[t, i] = \text{ReLU}(W_{\ell+1}^{\text{FF1}}[i, J] L_{\ell}[t, J] - B_{\ell+1}^{\text{FF1}}[i])$$",
        "h_{l+1}[t,i] = relu(W_FF1_{l+1}[i,J] L_l[t,J] - B_FF1_{l+1}[i])",
    ),
    "4 feed-forward 2": (
        r"$$L_{\ell+1}[t, j] = W_{\ell+1}^{\text{FF2}}[j, I] h_{\ell+1}[t, I] - B_{\ell+1}^{\text{FF2}}[j]$$",
        "L_{l+1}[t,j] = W_FF2_{l+1}[j,I] h_{l+1}[t,I] - B_FF2_{l+1}[j]",
    ),
}  # fmt: skip

# name -> (LaTeX as printed, part of the complaint): these parse, and `check` refuses them.
REFUSED = {
    "E0-4: softmax over the wrong word": (
        r"$$P_\Phi(w_t|w_1, \dots, w_{t-1}) = \text{softmax}_{w_{t+1}} e[w_t, I]h[t-1, I]$$",
        "this softmax runs over `wtp1`, which does not occur inside it",
    ),
    "E0-8: translation": (
        r"""$$\begin{aligned} P(w_t | w_0, \dots, w_{t-1}) &= \underset{w_t}{\text{softmax}} \quad e[w_t, I] W^{\text{auto}}[I, J] h[t-1, J] \\
        \alpha[t_{\text{in}}] &= \underset{t_{\text{in}}}{\text{softmax}} \quad h[t-1, J_1] W^{\text{key}}[J_1, J_2] M[t_{\text{in}}, J_2] \\
        V[J] &= \sum_{t_{\text{in}}} \alpha[t_{\text{in}}] M[t_{\text{in}}, J] \\
        h[t, J] &= \text{CELL}_{\Phi}(h[t-1, J], V[J], e[w_t, I]) \end{aligned}$$""",
        "`t` is free on the right but not on the left",
    ),
    "E0-8: captioning": (
        r"$$\alpha[x, y] = \underset{x, y}{\text{softmax}} h[t-1, J] W^{\text{key}}[J, K] M[x, y, K]$$",
        "`t` is free on the right but not on the left",
    ),
    "E0-10: embedding": (r"$$L_0[b, t, i] = e[w[t], i]$$", "`b` is free on the left but not on the right"),
    "E0-10: stride 2": (
        r"$$L_{\ell+1}[b, t, i] = \sigma \left( \left( \sum_{\Delta t, i'} W_{\ell+1}[\Delta t, i', i] L_\ell[2t + \Delta t, i'] \right) - B_{\ell+1}[i] \right)$$",
        "`b` is free on the left but not on the right",
    ),
    "1 eq 8: an update names one tensor twice": (
        r"$$W = W - \alpha \frac{\partial J}{\partial W} \quad (8)$$",
        "`W` is defined by itself; a new value needs a name of its own, such as `W'`",
    ),
    "1 eq 9": (r"$$b = b - \alpha \frac{\partial J}{\partial b} \quad (9)$$", "`b` is defined by itself"),
    "1 eq 2: shapes not declared": (r"$$e^{(t)} = x^{(t)} L \quad (2)$$", "declare its shape: `L in R^{n x m}`"),
    "1 eq 3: shapes not declared": (
        r"$$h^{(t)} = \text{sigmoid}(h^{(t-1)} H + e^{(t)} I + b_1) \quad (3)$$",
        "declare its shape: `H in R^{n x m}`",
    ),
    "1 eq 4: softmax without an index": (
        r"$$\hat{y}^{(t)} = \text{softmax}(h^{(t)} U + b_2) \quad (4)$$",
        "over which index is this softmax?",
    ),
    "1 eq 6: shapes alone": (
        r"$$L \in \mathbb{R}^{|V| \times d} \quad H \in \mathbb{R}^{D_h \times D_h} \quad I \in \mathbb{R}^{d \times D_h} \quad b_1 \in \mathbb{R}^{D_h} \quad U \in \mathbb{R}^{D_h \times |V|} \quad b_2 \in \mathbb{R}^{|V|} \quad (6)$$",
        "there is no equation here",
    ),
    "1 eq 19: shapes not declared": (
        r"$$\frac{\partial J}{\partial W} = x^\top \frac{\partial J}{\partial z} \quad (19)$$",
        "a transpose needs shapes",
    ),
    "0.6 parameters alone": (
        r"$$\Phi = (e[w, i], W_1[\Delta t, i, i'], B_1[i], \dots, W_L[\Delta t, i, i'], B_L[i])$$",
        "there is no equation here",
    ),
    "E2-9: softmax without w": (
        r"$$\alpha[\ell, t, w] = \operatorname{softmax} h[\ell, t, I]e[w, I]$$",
        "over which index is this softmax?",
    ),
    "2.3 eq 2": (r"$$P(y|h) = \text{softmax } h^{\top} e(y) \tag{2}$$", "over which index is this softmax?"),
    "2.3 eq 3": (r"$$P(y|h) = \operatorname{softmax}_{y} h^{\top} W e(y) \tag{3}$$", "a transpose needs shapes"),
    "E2-12: trigram": (
        r"$$P(w_{t+1}|w_t, w_{t+1}) = \operatorname{softmax}_{w_{t+2}} \beta \ h_{\Phi}(e(w_t), e(w_{t+1}))^{\top} \ e(w_{t+2})$$",
        "`wtp2` is free on the right but not on the left",
    ),
    "3.1 grid, shapes not declared": (
        r"$$h^{i,j} = \sigma (W_{in}x^{i,j} + W_{left}h^{i-1,j} + W_{top}h^{i,j-1}) .$$",
        "declare its shape: `W_in in R^{n x m}`",
    ),
    "3.3a likelihood": (
        r"$$l = u_j^T v_i - \log \left(\sum_k \exp(u_k^T v_i) \right).$$",
        "`j` is free on the right but not on the left",
    ),
    "3.3a d/dv": (
        r"""$$\begin{aligned}\frac{\partial l}{\partial v_i} &= u_j - \frac{\sum_k \exp(u_k^T v_i) u_k}{\sum_k \exp(u_k^T v_i)} \\
        &= u_j - U \text{softmax}(U v_i) \\ &= u_j - U \hat{y}.\end{aligned}$$""",
        "`j` is free on the right but not on the left",
    ),
    "E3-7: d/du": (
        r"""$$\begin{aligned}\frac{\partial l}{\partial u_{j'}} &= - \frac{\sum_k \exp(u_k^T v_i) v_i}{\sum_k \exp(u_k^T v_i)} \\
        &= -V \text{softmax}(U v_i),\end{aligned}$$""",
        "over which index is this softmax?",
    ),
    "E3-8: d/du_j": (
        r"$$\frac{\partial l}{\partial u_j} = v_i - V \text{softmax}(U v_i),$$",
        "over which index is this softmax?",
    ),
    "4 chain rule: P of a sentence and P of a word are two tensors": (
        r"$$P_{\Phi}(w_0, w_1, \dots, w_T) = \prod_{t=0}^T P_{\Phi}(w_t \mid w_0, \dots, w_{t-1})$$",
        "`P` has 0 indices, you wrote 1",
    ),
}  # fmt: skip

# name -> (LaTeX as printed, part of the complaint): no equations of this language.
OUTSIDE = {
    "0.1 objective": (
        r"""$$\begin{aligned} \Phi^* &= \underset{\Phi}{\operatorname{argmin}} E_{w_1, \dots, w_T \sim \text{Train}} - \ln P_\Phi(w_1, \dots, w_T) \end{aligned}$$""",
        "`argmin` is an optimisation",
    ),
    "0.3 objective": (
        r"$$\Phi^* = \underset{\Phi}{\operatorname{argmin}} E_{w_1, \dots, w_T \sim \text{Train}, t \sim \{1, \dots, T\}} - \ln P_{\Phi}(w_t | w_1, \dots, w_{t-1}, w_{t+1}, \dots, w_T)$$",
        "`argmin` is an optimisation",
    ),
    "4 objective": (
        r"$$\Phi^* = \operatorname{argmin}_{\Phi} E_{y \sim P_{\text{op}}} [-\ln P_{\Phi}(y)]$$",
        "`argmin` is an optimisation",
    ),
    "4 objective, again": (
        r"$$\Phi^* = \underset{\Phi}{\operatorname{argmin}} E_{y \sim \text{Pop}} [-\ln P_{\Phi}(y)]$$",
        "`argmin` is an optimisation",
    ),
    "4 conditional objective": (
        r"$$\Phi^* = \operatorname{argmin}_{\Phi} E_{\langle x, y \rangle \sim P_{\text{op}}} [-\ln P_{\Phi}(y|x)]$$",
        "`argmin` is an optimisation",
    ),
    "0.4 a probability, no equation": (
        r"$$P_{\Phi}(w_1, \dots, w_{T_{\text{out}}} | h[0, J], M[T_{\text{in}}, J])$$",
        "this is not an equation: `=` is missing",
    ),
    "1 eq 1: a probability, no equation": (
        r"$$p(x_{t+1} = v_j | x_t, \dots, x_1) \quad (1)$$",
        "this is not an equation: `=` is missing",
    ),
    "1 eq 10: a matrix of partial derivatives": (
        r"$$\frac{\partial J}{\partial W} = \begin{bmatrix} \frac{\partial J}{\partial W_{11}} & \cdots \\ \vdots & \ddots \end{bmatrix} \quad (10)$$",
        "a matrix is written entry by entry",
    ),
    "1 eq 16: dots": (
        r"$$z = [x_1 w_{11} + \dots + x_n w_{n1}, \dots, x_1 w_{1m} + \dots + x_n w_{nm}] \quad (16)$$",
        "dots cannot be run; write a sum",
    ),
    "1 eq 21: a list of gradients": (
        r"$$\frac{\partial J^{(t)}}{\partial U} \quad \frac{\partial J^{(t)}}{\partial b_2} \quad (21)$$",
        "this is not an equation: `=` is missing",
    ),
    "1 eq 22": (
        r"$$\frac{\partial J^{(t)}}{\partial h^{(t-1)}} \quad (22)$$",
        "this is not an equation: `=` is missing",
    ),
    "E2-2: the bracket of 2.5a's third line": (
        r"$$= \operatorname{softmax} \left[ \sum_{j_{1},j_{2}} L_{\ell}(t_{1},j_{1}) \left( \frac{1}{\sqrt{I}} \sum_{i} W^{Q}[k,i,j_{1}] \right) \left( W^{K}[k,i,j_{2}] \right) \right) L_{\ell}(t_{1},j_{2}) \right]$$",
        "`[` is never closed: `]` is missing before `)`",
    ),
    "E2-3: 2.5a has no left side": (
        r"$$= \operatorname{softmax} \left[ L_{\ell}(t_{1},J_{1}) \tilde{W}^{Q}[k,J_{1},J_{2}] L_{\ell}(t_{1},J_{2}) \right]$$",
        "the left side of `=` is missing",
    ),
    "2.1 prose in a case": (
        r"$\alpha(\mathbf{dobj}, \mathbf{prefer}, w) = \begin{cases} 1 & \text{if } w \text{ is flight} \\ 0 & \text{otherwise} \end{cases}$",
        "`is flight` is prose",
    ),
    "3.3b sampling": (
        r"$$\Delta \approx \frac{1}{|S|} \sum_{i \in S} d(y_i - \hat{y}_i) u_i.$$",
        "`≈` is not an equation",
    ),
    "4 ranges": (r"$$\tanh(x) \in (-1, 1) \quad \sigma(x) \in (0, 1)$$", "after `in` comes a shape"),
    "4 translation": (
        r"$$w_0, \dots, w_{T_{\text{in}}} \Rightarrow \tilde{w}_0, \dots, \tilde{w}_{T_{\text{out}}}$$",
        "an arrow is not an equation",
    ),
    "4 a model, no equation": (
        r"$$P_{\Phi} (\tilde{w}_0, \dots, \tilde{w}_{T_{\text{out}}} \mid w_0, \dots, w_{T_{\text{in}}})$$",
        "this is not an equation: `=` is missing",
    ),
    "4 generation": (
        r"$$\text{generate : } w_{t_{\text{out}}+1} \sim P_{\Phi}(w_{t_{\text{out}}+1} | h_{\text{thought}}, h_{\text{out}}(t_{\text{out}}))$$",
        "`~` draws at random",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_equation_parses_as_printed_and_checks(name):
    printed, ascii_text = RIGHT[name]
    program = parse(printed)
    assert show(program) == ascii_text
    assert parse(ascii_text) == program
    check(program)


CLIPPING = r"""$$W.\text{grad}' = \begin{cases} W.\text{grad} & \text{if } ||W.\text{grad}|| \leq n_{\max} \\ n_{\max} W.\text{grad}/||W.\text{grad}|| & \text{otherwise} \end{cases}$$"""


def test_clipping_needs_the_axes_of_its_matrix():
    with pytest.raises(NotationError, match="is the length of a vector"):
        parse(CLIPPING)
    read = Equations(CLIPPING, {"W_grad": ("i", "j"), "n_max": ()})
    W, n = torch.randn(3, 4, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64)
    (clipped,) = read.run({"W_grad": W, "n_max": n}).values()
    torch.testing.assert_close(clipped, W / W.norm() / 2)


@pytest.mark.parametrize("name", REFUSED)
def test_ill_formed_equation_parses_and_is_refused_by_check(name):
    printed, complaint = REFUSED[name]
    program = parse(printed)
    with pytest.raises(NotationError) as caught:
        check(program)
    assert complaint in caught.value.message


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_no_equation_is_refused_with_its_sentence(name):
    printed, complaint = OUTSIDE[name]
    with pytest.raises(NotationError) as caught:
        parse(printed)
    assert complaint in caught.value.message
    assert caught.value.line >= 1
    assert caught.value.column >= 1


def test_corrected_captioning_checks():
    """E0-8 repaired: the attention and the context carry the time."""
    system = check(
        parse(
            r"""P(w_t \mid w_0, \dots, w_{t-1}) = \underset{w_t}{\text{softmax}} e[w_t, I] W^{\text{auto}}[I, J] h[t-1, J]
            \alpha[t, x, y] = \underset{x, y}{\text{softmax}} h[t-1, J] W^{\text{key}}[J, K] M[x, y, K]
            V[t, K] = \sum_{x, y} \alpha[t, x, y] M[x, y, K]
            h[t, J] = \text{CELL}_{\Phi}(h[t-1, J], V[t, K], e[w_t, I])"""
        )
    )
    assert system.tensors["V"].dims == ("T", "K")
    assert system.tensors["h"].dims == ("T", "J")
    assert system.tensors["w"].indexes == system.tensors["e"].dims[0]
    assert system.boundary == {"h": ((0, -1),)}
