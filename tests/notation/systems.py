"""The systems of the course in the language's own spelling, by name.

`SYSTEMS[name]` is the text; each ends in a scalar `J`, so that it can be differentiated. Losses that the
sources leave out are a plain read-out: a product with given weights `g`. `CELLS` are the recurrent cells alone.
"""

SYSTEMS: dict[str, str] = {}
CELLS: dict[str, str] = {}

READ_OUT = "J = g[B,T,J] h[B,T,J]\n"

# Source 001: h = sigma(h_prev H + e I + b1), y = softmax(h U + b2), J = -ln y[target].
_RNN_LM = """
parameters L, H, I, b_1, U, b_2
e[b,t,k] = L[x[b,t],k]
h[b,t,j] = sigmoid(h[b,t-1,M] H[M,j] + e[b,t,K] I[K,j] + b_1[j])
"""
SYSTEMS["rnn_lm_all_losses"] = (
    _RNN_LM
    + """
y_hat[b,t,v] = softmax[v](h[b,t,J] U[J,v] + b_2[v])
J = -sum[b,t](log(y_hat[b,t,w[b,t]]))
"""
)
SYSTEMS["rnn_lm_one_loss"] = (
    _RNN_LM
    + """
y_hat[b,v] = softmax[v](h[b,T-1,J] U[J,v] + b_2[v])
J = -sum[b](log(y_hat[b,w[b]]))
"""
)
SYSTEMS["rnn_lm_one_hot"] = (
    _RNN_LM
    + """
y_hat[b,t,v] = softmax[v](h[b,t,J] U[J,v] + b_2[v])
J = -y[B,T,V] log(y_hat[B,T,V])
"""
)
# One step of it, h_prev given.
SYSTEMS["rnn_lm_step"] = """
parameters L, H, I, b_1, U, b_2
h[b,j] = sigmoid(h_prev[b,M] H[M,j] + L[x[b],K] I[K,j] + b_1[j])
y_hat[b,v] = softmax[v](h[b,J] U[J,v] + b_2[v])
J = -sum[b](log(y_hat[b,w[b]]))
"""

CELLS["vanilla_sigmoid"] = """
parameters W_hh, W_xh, B
h[b,t,j] = sigmoid(W_hh[j,I] h[b,t-1,I] + W_xh[j,K] x[b,t,K] - B[j])
"""
CELLS["vanilla_tanh"] = CELLS["vanilla_sigmoid"].replace("sigmoid", "tanh")
CELLS["ugrnn"] = """
parameters W_hR, W_xR, B_R, W_hG, W_xG, B_G
R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
"""
CELLS["gru"] = """
parameters W_h1, W_x1, B_1, W_h2, W_x2, B_2, W_hR, W_xR, B_R
G_1[b,t,j] = sigmoid(W_h1[j,I] h[b,t-1,I] + W_x1[j,K] x[b,t,K] - B_1[j])
G_2[b,t,j] = sigmoid(W_h2[j,I] h[b,t-1,I] + W_x2[j,K] x[b,t,K] - B_2[j])
R[b,t,j] = tanh(W_hR[j,I] G_1[b,t,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
h[b,t,j] = (1 - G_2[b,t,j]) h[b,t-1,j] + G_2[b,t,j] R[b,t,j]
"""
CELLS["lstm"] = """
parameters W_hi, W_xi, B_i, W_hf, W_xf, B_f, W_ho, W_xo, B_o, W_hg, W_xg, B_g
i[b,t,j] = sigmoid(W_hi[j,I] h[b,t-1,I] + W_xi[j,K] x[b,t,K] - B_i[j])
f[b,t,j] = sigmoid(W_hf[j,I] h[b,t-1,I] + W_xf[j,K] x[b,t,K] - B_f[j])
o[b,t,j] = sigmoid(W_ho[j,I] h[b,t-1,I] + W_xo[j,K] x[b,t,K] - B_o[j])
g_c[b,t,j] = tanh(W_hg[j,I] h[b,t-1,I] + W_xg[j,K] x[b,t,K] - B_g[j])
c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] g_c[b,t,j]
h[b,t,j] = o[b,t,j] tanh(c[b,t,j])
"""
for _name, _cell in CELLS.items():
    SYSTEMS[_name] = _cell + READ_OUT

# Problem 0.3: a forward and a backward recurrence, one softmax over both.
SYSTEMS["blank_lm"] = """
parameters e, W_f, U_f, W_b, U_b, A_f, A_b
f[b,t,j] = tanh(W_f[j,M] f[b,t-1,M] + U_f[j,I] e[w[b,t],I])
r[b,t,j] = tanh(W_b[j,M] r[b,t+1,M] + U_b[j,I] e[w[b,t],I])
P[b,t,v] = softmax[v](e[v,I] A_f[I,J] f[b,t-1,J] + e[v,I] A_b[I,J] r[b,t+1,J])
J = -sum[b,t](log(P[b,t,w[b,t]]))
"""
# Problem 0.4 with a vanilla cell.
SYSTEMS["captioning"] = """
parameters e, W_auto, W_key, W_h, W_V, W_e
P[t,v] = softmax[v](e[v,I] W_auto[I,J] h[t-1,J])
alpha[t,x,y] = softmax[x,y](h[t-1,J] W_key[J,K] M[x,y,K])
V[t,k] = alpha[t,X,Y] M[X,Y,k]
h[t,j] = tanh(W_h[j,I] h[t-1,I] + W_V[j,K] V[t,K] + W_e[j,I] e[w[t],I])
J = -sum[t](log(P[t,w[t]]))
""".replace("W_h[j,I] h[t-1,I]", "W_h[j,L] h[t-1,L]")
# Problem 0.5: zero padding, a centred window, as many channels out as in.
SYSTEMS["ugcnn"] = """
parameters W_R, B_R, W_G, B_G
pad L
centered dx, dy
R[b,x,y,j] = tanh(sum[dx,dy,i](W_R[dx,dy,i,j] L[b,x+dx,y+dy,i]) - B_R[j])
G[b,x,y,j] = sigmoid(sum[dx,dy,i](W_G[dx,dy,i,j] L[b,x+dx,y+dy,i]) - B_G[j])
N[b,x,y,j] = G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]
J = g[B,X,Y,J] N[B,X,Y,J]
"""
# Problem 0.6: embedding and two layers of stride 2.
SYSTEMS["language_cnn"] = """
parameters e, W_1, B_1, W_2, B_2
L_0[b,t,i] = e[w[b,t],i]
L_1[b,t,i] = sigmoid(sum[dt,m](W_1[dt,m,i] L_0[b,2*t+dt,m]) - B_1[i])
L_2[b,t,i] = sigmoid(sum[dt,m](W_2[dt,m,i] L_1[b,2*t+dt,m]) - B_2[i])
J = g[I] L_2[B,T,I]
"""
# Stride 1, no padding.
SYSTEMS["plain_cnn"] = """
parameters W, B
Z[b,t,i] = relu(W[DT,M,i] L[b,t+DT,M] - B[i])
J = g[I] Z[B,T,I]
"""
# Problem 3.1.
SYSTEMS["rnn_2d"] = """
parameters W_in, W_left, W_top
pad h
h[i,j,a] = sigmoid(W_in[a,C] x[i,j,C] + W_left[a,M] h[i-1,j,M] + W_top[a,M] h[i,j-1,M])
J = g[I,J,A] h[I,J,A]
"""
# Slides 4.S37-40: one block of self-attention with heads, residual and feed-forward layer.
SYSTEMS["self_attention"] = """
parameters W_Q, W_K, W_V, W_O, W_1, B_1, W_2, B_2
Q[k,t,i] = W_Q[k,i,J] L[t,J]
K[k,t,i] = W_K[k,i,J] L[t,J]
V[k,t,i] = W_V[k,i,J] L[t,J]
alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] K[k,t2,I])
O[k,t,i] = alpha[k,t,S] V[k,S,i]
A[t,j] = L[t,j] + W_O[j,K,I] O[K,t,I]
R[t,f] = relu(W_1[f,J] A[t,J] - B_1[f])
Z[t,j] = A[t,j] + W_2[j,F] R[t,F] - B_2[j]
J = g[T,J] Z[T,J]
"""
SYSTEMS["causal_attention"] = """
parameters W_Q, W_K, W_V
Q[k,t,i] = W_Q[k,i,J] L[t,J]
K[k,t,i] = W_K[k,i,J] L[t,J]
V[k,t,i] = W_V[k,i,J] L[t,J]
alpha[k,t1,t2] = softmax[t2 <= t1](1/sqrt(I) Q[k,t1,I] K[k,t2,I])
O[k,t,i] = alpha[k,t,S] V[k,S,i]
J = g[K,T,I] O[K,T,I]
"""
# Heads laid end to end, as the slides have it.
SYSTEMS["concatenated_heads"] = """
parameters W_Q, W_K, W_V, W_O
alpha[k,t1,t2] = softmax[t2](1/sqrt(I) W_Q[k,I,J] L[t1,J] W_K[k,I,M] L[t2,M])
V[k,t,i] = W_V[k,i,J] L[t,J]
O[k,t,i] = alpha[k,t,S] V[k,S,i]
C[t,c] = O[0,t,I]; ...; O[K-1,t,I]
Z[t,j] = W_O[j,C] C[t,C]
J = g[T,J] Z[T,J]
"""
# Problem 2.5.
SYSTEMS["merged_attention"] = """
parameters W
alpha[k,t1,t2] = softmax[t2](L[t1,J] W[k,J,M] L[t2,M])
O[k,t,j] = alpha[k,t,S] L[S,j]
J = g[K,T,J] O[K,T,J]
"""
# Problem 3.3: columns of U and A are word vectors.
SYSTEMS["skip_gram"] = """
parameters U, A
y_hat[n,k] = softmax[k](U[H,k] A[H,c[n]])
J = -sum[n](log(y_hat[n,w[n]]))
"""
# Problem 2.1 b and c, on attention that is a softmax of given scores.
SYSTEMS["focus_loss"] = """
alpha[l,k,t1,t2] = softmax[t2](s[l,k,t1,t2])
J = -1/(L K T) sum[l,k,t1,t2](alpha[l,k,t1,t2] log(alpha[l,k,t1,t2]))
""".replace("t1", "t").replace("t2", "u")
SYSTEMS["near_loss"] = """
alpha[k,t,u] = softmax[u](s[k,t,u])
J = 1/(K T) sum[k,t](min(2, sum[u](alpha[k,t,u] (t-u)^2)))
"""
SYSTEMS["concatenation"] = """
parameters W, e, p
x[t,c] = e[w[t],I]; p[t,K]
z[t,j] = tanh(W[j,C] x[t,C])
J = g[T,J] z[T,J]
"""
