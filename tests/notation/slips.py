# ruff: noqa: E501  (a line is a slip, or a model)
"""Slips of students in the course's equations, each beside its model: the kind that it must be told as.

SAME are written as the model is, OTHER in another but equal style; RIGHT say what the model says. All were written
before the rules were looked at.
"""

RNN = "h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K] + b[j])"
LM = "h[t,j] = sigmoid(H[j,I] h[t-1,I] + E[j,K] e[t,K] + b[j])\np[t,v] = softmax[v](U[v,J] h[t,J] + c[v])\nCE = -1/T sum[t,v](y[t,v] log(p[t,v]))"
BPTT = "delta[t,j] = (1 - h[t,j]^2) (g[t,j] + W[M,j] delta[t+1,M])\ndW[j,m] = sum[t](delta[t,j] h[t-1,m])\ndb[j] = sum[t](delta[t,j])"
BPTTS = "delta[t,j] = h[t,j] (1 - h[t,j]) (g[t,j] + W[M,j] delta[t+1,M])\ndW[j,m] = sum[t](delta[t,j] s[t,m])\ndU[j,k] = sum[t](delta[t,j] x[t,k])"
GRU = "z[t,j] = sigmoid(W_z[j,I] h[t-1,I] + U_z[j,K] x[t,K] + b_z[j])\nr[t,j] = sigmoid(W_r[j,I] h[t-1,I] + U_r[j,K] x[t,K] + b_r[j])\nc[t,j] = tanh(W_c[j,I] (r[t,I] h[t-1,I]) + U_c[j,K] x[t,K] + b_c[j])\nh[t,j] = z[t,j] h[t-1,j] + (1 - z[t,j]) c[t,j]"
LSTM = "f[t,j] = sigmoid(W_f[j,I] h[t-1,I] + U_f[j,K] x[t,K])\ni[t,j] = sigmoid(W_i[j,I] h[t-1,I] + U_i[j,K] x[t,K])\no[t,j] = sigmoid(W_o[j,I] h[t-1,I] + U_o[j,K] x[t,K])\ng[t,j] = tanh(W_g[j,I] h[t-1,I] + U_g[j,K] x[t,K])\nc[t,j] = f[t,j] c[t-1,j] + i[t,j] g[t,j]\nh[t,j] = o[t,j] tanh(c[t,j])"
UGRNN = "c[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])\ng[t,j] = sigmoid(V[j,I] h[t-1,I] + Z[j,K] x[t,K] + B[j])\nh[t,j] = g[t,j] h[t-1,j] + (1 - g[t,j]) c[t,j]"
ATT = "q[t,i] = W_Q[i,J] x[t,J]\nk[t,i] = W_K[i,J] x[t,J]\nv[t,i] = W_V[i,J] x[t,J]\na[t,s] = softmax[s](q[t,I] k[s,I] / sqrt(I))\ny[t,i] = sum[s](a[t,s] v[s,i])"
HEADS = "q[m,t,i] = W_Q[m,i,J] x[t,J]\nk[m,t,i] = W_K[m,i,J] x[t,J]\nv[m,t,i] = W_V[m,i,J] x[t,J]\na[m,t,s] = softmax[s](q[m,t,I] k[m,s,I] / sqrt(I))\ny[t,j] = W_O[m,j,i] a[m,t,s] v[m,s,i]".replace(
    "W_O[m,j,i] a[m,t,s] v[m,s,i]", "W_O[M,j,I] a[M,t,S] v[M,S,I]"
)
CAUSAL = "s[t,u] = q[t,I] k[u,I] / sqrt(I)\ne[t,u] = [u <= t] exp(s[t,u])\na[t,u] = e[t,u] / sum[w](e[t,w])\ny[t,i] = sum[u](a[t,u] v[u,i])"
LN = "m[t] = 1/J sum[j](x[t,j])\ns[t] = 1/J sum[j]((x[t,j] - m[t])^2)\ny[t,j] = gamma[j] (x[t,j] - m[t]) / sqrt(s[t] + eps) + beta[j]"
RMS = "r[t] = sqrt(1/J sum[j](x[t,j]^2) + eps)\ny[t,j] = gamma[j] x[t,j] / r[t]"
CEL = "p[n,k] = exp(z[n,k]) / sum[l](exp(z[n,l]))\nL = -1/N sum[n,k](y[n,k] log(p[n,k]))"
DCE = "p[n,k] = softmax[k](z[n,k])\ndz[n,k] = 1/N (p[n,k] - y[n,k])\ndW[k,i] = sum[n](dz[n,k] x[n,i])"
TEMP = "p[k] = exp(z[k]/tau) / sum[l](exp(z[l]/tau))"
SG = "s[w] = U[w,A] v[A]\np[w] = softmax[w](s[w])\nL = -sum[w](y[w] log(p[w]))\ndv[a] = sum[w]((p[w] - y[w]) U[w,a])"
SGNS = "L = -log(sigmoid(u[A] v[A])) - sum[n](log(sigmoid(-w[n,A] v[A])))"
CONV = "y[t,o] = relu(sum[d,i](W[d,i,o] x[2*t+d,i]) + b[o])\nsize d = 3"
CONV2 = "y[u,v,o] = W[D,E,C,o] x[u+D,v+E,C] + b[o]\nsize D = 2\nsize E = 3"
GRID = "h[u,v,j] = tanh(A[j,I] h[u-1,v,I] + B[j,I] h[u,v-1,I] + C[j,K] x[u,v,K])"
PP = "CE = -1/T sum[t,v](y[t,v] log(p[t,v]))\nPP = exp(CE)"
POS = "P[t,i] = sin(t / c^(2*i/I))\ny[t,i] = x[t,i] + P[t,i]"
SGDM = "m[i] = mu m0[i] + g[i]\nw[i] = w0[i] - eta m[i]"
ADAM = "m[i] = b1 m0[i] + (1 - b1) g[i]\nv[i] = b2 v0[i] + (1 - b2) g[i]^2\nw[i] = w0[i] - eta m[i] / (sqrt(v[i]) + eps)"
HIGH = "g[j] = sigmoid(V[j,I] x[I] + b[j])\ny[j] = g[j] tanh(W[j,I] x[I]) + (1 - g[j]) x[j]"
FFN = "a[t,f] = relu(W_1[f,J] x[t,J] + b_1[f])\ny[t,j] = x[t,j] + W_2[j,F] a[t,F] + b_2[j]"
BAH = "s[t,u] = v[A] tanh(W[A,I] h[t,I] + U[A,K] e[u,K])\na[t,u] = softmax[u](s[t,u])\nc[t,k] = sum[u](a[t,u] e[u,k])"
MERGED = "M[j,l] = W_Q[I,j] W_K[I,l] / sqrt(I)\ns[t,u] = x[t,J] M[J,L] x[u,L]\na[t,u] = softmax[u](s[t,u])"
BN = "m[i] = 1/N sum[n](x[n,i])\nv[i] = 1/N sum[n]((x[n,i] - m[i])^2)\ny[n,i] = (x[n,i] - m[i]) / sqrt(v[i] + eps)"

TIED = "h[t,j] = relu(W[j,I] h[t-1,I] + E[K,j] x[t,K])\no[t,v] = E[v,J] h[t,J]\np[t,v] = softmax[v](o[t,v])"
BI = "f[t,j] = tanh(W[j,I] f[t-1,I] + U[j,K] x[t,K])\nb[t,j] = tanh(V[j,I] b[t+1,I] + Z[j,K] x[t,K])\ny[t,o] = F[o,J] f[t,J] + B[o,J] b[t,J]"
DIL = "y[t,o] = sum[d,i](W[d,i,o] x[t+3*d,i]) + b[o]\nsize d = 2"
POOL = "y[u,v,c] = max(x[2*u,2*v,c], x[2*u+1,2*v,c], x[2*u,2*v+1,c], x[2*u+1,2*v+1,c])"
MQA = "q[m,t,i] = W_Q[m,i,J] x[t,J]\nk[t,i] = W_K[i,J] x[t,J]\nv[t,e] = W_V[e,J] x[t,J]\na[m,t,s] = softmax[s](q[m,t,I] k[s,I] / sqrt(I))\no[m,t,e] = a[m,t,S] v[S,e]"
ALIBI = "s[m,t,u] = q[m,t,I] k[m,u,I] / sqrt(I) - c[m] (t - u)\na[m,t,u] = softmax[u <= t](s[m,t,u])\ny[m,t,e] = a[m,t,U] v[m,U,e]"
SWI = "g[t,f] = silu(W_1[f,J] x[t,J])\nu[t,f] = W_2[f,J] x[t,J]\ny[t,j] = W_3[j,F] g[t,F] u[t,F]"
MOE = "r[t,e] = softmax[e](G[e,J] x[t,J])\nz[t,e,j] = relu(W[e,j,I] x[t,I])\ny[t,j] = r[t,E] z[t,E,j]"
SMOOTH = "q[n,k] = (1 - eps) y[n,k] + eps/K\nL = -1/N sum[n,k](q[n,k] log(p[n,k]))\nKL = sum[n,k](q[n,k] log(q[n,k]/p[n,k]))"
RMSP = "v[i] = rho v0[i] + (1 - rho) g[i]^2\nw[i] = w0[i] - eta g[i] / sqrt(v[i] + eps)"
ADAMW = "w[i] = w0[i] - eta (m[i] / (1 - b^t) / (sqrt(v[i] / (1 - c^t)) + eps) + lam w0[i])".replace(
    "^t", "^n"
)
CLIP = "n = sqrt(sum[i](g[i]^2))\nd[i] = g[i] min(1, c/n)"
GLOVE = "L = sum[i,j](f[i,j] (u[i,A] v[j,A] + b[i] + c[j] - log(X[i,j]))^2)"
LNB = "s = sqrt(1/J sum[j]((x[j] - m)^2) + eps)\nz[j] = (x[j] - m)/s\ndx[j] = 1/s (g[j] - 1/J sum[k](g[k]) - z[j] 1/J sum[k](g[k] z[k]))"
LSTMB = "do[t,j] = dh[t,j] tanh(c[t,j])\ndc[t,j] = dh[t,j] o[t,j] (1 - tanh(c[t,j])^2) + dc[t+1,j] f[t+1,j]\ndf[t,j] = dc[t,j] c[t-1,j]\ndi[t,j] = dc[t,j] g[t,j]\ndg[t,j] = dc[t,j] i[t,j]"
EXPL = "y[t,j] = x[t,j] + P[t,j]\nq[t,i] = W[i,J] y[t,J]"
GRID2 = "h[u,v,j] = tanh(A[j,I] h[u-1,v,I] + B[j,I] h[u,v-1,I] + C[j,K] x[u,v,K] + b[j])"
MASKED = "n = sum[b,t](w[b,t])\nCE = -1/n sum[b,t,v](w[b,t] y[b,t,v] log(p[b,t,v]))\nPP = exp(CE)"
SELF = "p[t,v] = softmax[v](W[v,J] h[t,J] / tau)\nS = -1/T sum[t,v](p[t,v] log(p[t,v]))"
PEEP = "f[t,j] = sigmoid(W[j,I] h[t-1,I] + P[j] c[t-1,j] + b[j])\nc[t,j] = f[t,j] c[t-1,j] + (1 - f[t,j]) tanh(U[j,K] x[t,K])\nh[t,j] = tanh(c[t,j])"
LEAKY = "h[t,j] = (1 - a) h[t-1,j] + a tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])"
CROSS = "q[t,i] = W_Q[i,J] x[t,J]\nk[s,i] = W_K[i,L] m[s,L]\nv[s,i] = W_V[i,L] m[s,L]\na[t,s] = softmax[s](q[t,I] k[s,I] / sqrt(I))\ny[t,i] = x[t,i] + a[t,S] v[S,i]"
ADDN = "u[t,j] = x[t,j] + F[t,j]\nm[t] = 1/J sum[j](u[t,j])\nv[t] = 1/J sum[j]((u[t,j] - m[t])^2)\ny[t,j] = (u[t,j] - m[t]) / sqrt(v[t] + eps)"
CBOW = "c[a] = 1/N sum[n](V[w[n],a])\ns[v] = U[v,A] c[A]\np[v] = softmax[v](s[v])"
BCE = "p[n] = sigmoid(w[I] x[n,I] + b)\nL = -1/N sum[n](y[n] log(p[n]) + (1 - y[n]) log(1 - p[n]))\ndw[i] = 1/N sum[n]((p[n] - y[n]) x[n,i])"
TRUNC = "d[t,j] = (1 - h[t,j]^2) e[t,j]\ne[t,j] = V[K,j] (p[t,K] - y[t,K]) + W[M,j] d[t+1,M]\ndV[k,j] = sum[t]((p[t,k] - y[t,k]) h[t,j])\ndU[j,i] = sum[t](d[t,j] x[t,i])"
CONV1 = "z[t,o] = sum[d,i](W[d,i,o] x[t+d,i])\ny[o] = max[t](relu(z[t,o] + b[o]))\nsize d = 3"
GLU = "y[t,o] = (A[o,I] x[t,I] + b[o]) sigmoid(C[o,I] x[t,I] + c[o])"
POSN = "P[t,i] = sin(t / r^(2*i/I))\nQ[t,i] = cos(t / r^(2*i/I))"
ADAG = "s[i] = s0[i] + g[i]^2\nw[i] = w0[i] - eta g[i] / (sqrt(s[i]) + eps)"
STACK = "h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])\ng[t,j] = tanh(V[j,I] g[t-1,I] + Z[j,K] h[t,K])"
BEAM = "s[k,v] = l[k] + log(p[k,v])\nm[v] = max[k](s[k,v])\nn = logsumexp[v](m[v])"
COS = "c[i,j] = u[i,A] v[j,A] / (sqrt(u[i,B]^2) sqrt(v[j,B]^2))".replace(
    "sqrt(u[i,B]^2)", "sqrt(sum[b](u[i,b]^2))"
).replace("sqrt(v[j,B]^2)", "sqrt(sum[b](v[j,b]^2))")
# fmt: off
SAME = [
    ("rnn transposed", RNN, RNN.replace("W[j,I]", "W[I,j]"), "transpose"),
    ("rnn x shifted", RNN, RNN.replace("x[t,K]", "x[t-1,K]").replace("x[t-1", "x[t-1"), "shifted index"),
    ("lm mean over v", LM, LM.replace("-1/T", "-1/V"), "scale"),
    ("lm sigmoid output", LM, LM.replace("softmax[v](U[v,J] h[t,J] + c[v])", "sigmoid(U[v,J] h[t,J] + c[v])"), "activation"),
    ("lm prev state", LM, LM.replace("U[v,J] h[t,J]", "U[v,J] h[t-1,J]"), "shifted index"),
    ("bptt no slope in rec", BPTT, BPTT.replace("(1 - h[t,j]^2) (g[t,j] + W[M,j] delta[t+1,M])", "(1 - h[t,j]^2) g[t,j] + W[M,j] delta[t+1,M]"), "brackets"),
    ("bptt W transposed", BPTT, BPTT.replace("W[M,j]", "W[j,M]"), "transpose"),
    ("bptt h[t]", BPTT, BPTT.replace("delta[t,j] h[t-1,m]", "delta[t,j] h[t,m]"), "shifted index"),
    ("bptt sigmoid slope", BPTT, BPTT.replace("(1 - h[t,j]^2)", "h[t,j] (1 - h[t,j])"), "activation"),
    ("bptt from before", BPTTS, BPTTS.replace("delta[t+1,M]", "delta[t-1,M]"), "shifted index"),
    ("bptt slope of next", BPTTS, BPTTS.replace("h[t,j] (1 - h[t,j]) (g", "h[t-1,j] (1 - h[t-1,j]) (g"), "shifted index"),
    ("gru reset after", GRU, GRU.replace("W_c[j,I] (r[t,I] h[t-1,I])", "r[t,j] W_c[j,I] h[t-1,I]"), "reset after product"),
    ("gru gates swapped", GRU, GRU.replace("z[t,j] h[t-1,j] + (1 - z[t,j]) c[t,j]", "(1 - z[t,j]) h[t-1,j] + z[t,j] c[t,j]"), "gate swapped"),
    ("gru no reset", GRU, GRU.replace("(r[t,I] h[t-1,I])", "h[t-1,I]"), "missing factor"),
    ("gru z for r", GRU, GRU.replace("(r[t,I] h[t-1,I])", "(z[t,I] h[t-1,I])"), "wrong tensor"),
    ("lstm no tanh of c", LSTM, LSTM.replace("o[t,j] tanh(c[t,j])", "o[t,j] c[t,j]"), "activation"),
    ("lstm h for c", LSTM, LSTM.replace("f[t,j] c[t-1,j]", "f[t,j] h[t-1,j]"), "wrong tensor"),
    ("lstm gate g sigmoid", LSTM, LSTM.replace("g[t,j] = tanh", "g[t,j] = sigmoid"), "activation"),
    ("lstm gates swapped", LSTM, LSTM.replace("f[t,j] c[t-1,j] + i[t,j] g[t,j]", "i[t,j] c[t-1,j] + f[t,j] g[t,j]"), "tensors swapped"),
    ("ugrnn gate of candidate", UGRNN, UGRNN.replace("V[j,I] h[t-1,I]", "V[j,I] c[t,I]"), "wrong tensor"),
    ("att scale by length", ATT, ATT.replace("/ sqrt(I)", "/ sqrt(T)"), "scale"),
    ("att softmax over queries", ATT, ATT.replace("softmax[s](q[t,I] k[s,I] / sqrt(I))", "softmax[t](q[t,I] k[s,I] / sqrt(I))"), "softmax index"),
    ("att no root", ATT, ATT.replace("/ sqrt(I)", "/ I"), "scale"),
    ("heads sum before output", HEADS, HEADS.replace("W_O[M,j,I] a[M,t,S] v[M,S,I]", "1/M W_O[M,j,I] a[M,t,S] v[M,S,I]"), "mean for sum"),
    ("causal strict", CAUSAL, CAUSAL.replace("[u <= t]", "[u < t]"), "mask"),
    ("causal zero scores", CAUSAL, CAUSAL.replace("e[t,u] = [u <= t] exp(s[t,u])", "e[t,u] = exp([u <= t] s[t,u])"), "misplaced"),
    ("ln eps outside", LN, LN.replace("sqrt(s[t] + eps)", "(sqrt(s[t]) + eps)"), "epsilon"),
    ("ln variance", LN, LN.replace("(x[t,j] - m[t]) / sqrt(s[t] + eps)", "(x[t,j] - m[t]) / (s[t] + eps)"), "activation"),
    ("rms no mean", RMS, RMS.replace("1/J sum[j](x[t,j]^2)", "sum[j](x[t,j]^2)"), "scale"),
    ("cel over n", CEL, CEL.replace("sum[l](exp(z[n,l]))", "sum[l](exp(z[l,k]))"), "softmax index"),
    ("dce sign", DCE, DCE.replace("(p[n,k] - y[n,k])", "(y[n,k] - p[n,k])"), "sign"),
    ("dce weights transposed", DCE, DCE.replace("dz[n,k] x[n,i]", "p[n,k] x[n,i]"), "wrong tensor"),
    ("temp one", TEMP, TEMP.replace("sum[l](exp(z[l]/tau))", "sum[l](exp(z[l]))"), "missing factor"),
    ("temp multiplied", TEMP, TEMP.replace("/tau", " tau"), "operation"),
    ("sg wrong vec", SG, SG.replace("(p[w] - y[w]) U[w,a]", "(p[w] - y[w]) v[a]"), "wrong tensor"),
    ("conv stride 1", CONV, CONV.replace("2*t+d", "t+d"), "stride"),
    ("conv2 flipped", CONV2, CONV2.replace("x[u+D,v+E,C]", "x[u+D,v,C]"), "missing sum"),
    ("grid diagonal", GRID, GRID.replace("h[u,v-1,I]", "h[u-1,v-1,I]"), "shifted index"),
    ("pp base 2", PP, PP.replace("exp(CE)", "2^CE"), "activation"),
    ("pos no sum", POS, POS.replace("x[t,i] + P[t,i]", "x[t,i] P[t,i]"), "operation"),
    ("tied transposed", TIED, TIED.replace("E[v,J] h[t,J]", "E[J,v] h[t,J]"), "transpose"),
    ("bi wrong way", BI, BI.replace("b[t+1,I]", "b[t-1,I]"), "shifted index"),
    ("bi shares weights", BI, BI.replace("V[j,I] b", "W[j,I] b"), "wrong tensor"),
    ("bi only forward", BI, BI.replace(" + B[o,J] b[t,J]", " + B[o,J] f[t,J]"), "wrong tensor"),
    ("dilation as stride", DIL, DIL.replace("x[t+3*d,i]", "x[3*t+d,i]"), "stride"),
    ("mean pool", POOL, "y[u,v,c] = 1/4 (x[2*u,2*v,c] + x[2*u+1,2*v,c] + x[2*u,2*v+1,c] + x[2*u+1,2*v+1,c])", "hard choice"),
    ("alibi plus", ALIBI, ALIBI.replace("- c[m]", "+ c[m]"), "sign"),
    ("alibi scaled bias", ALIBI, ALIBI.replace("q[m,t,I] k[m,u,I] / sqrt(I) - c[m] (t - u)", "(q[m,t,I] k[m,u,I] - c[m] (t - u)) / sqrt(I)"), "extra factor"),
    ("swiglu other gate", SWI, SWI.replace("silu", "sigmoid"), "activation"),
    ("moe hard", MOE, MOE.replace("r[t,E] z[t,E,j]", "1/E sum[e](z[t,e,j])"), "missing factor"),
    ("smooth eps", SMOOTH, SMOOTH.replace("eps/K", "eps"), "scale"),
    ("kl upside down", SMOOTH, SMOOTH.replace("q[n,k]/p[n,k]", "p[n,k]/q[n,k]"), "sign"),
    ("rmsprop no square", RMSP, RMSP.replace("g[i]^2", "g[i]"), "missing factor"),
    ("clip squared norm", CLIP, CLIP.replace("sqrt(sum[i](g[i]^2))", "sum[i](g[i]^2)"), "activation"),
    ("glove no square", GLOVE, GLOVE.replace(")^2)", "))"), "missing factor"),
    ("temperature times", SELF, SELF.replace("/ tau)", "tau)"), "operation"),
    ("entropy no log", SELF, SELF.replace("log(p[t,v])", "p[t,v]"), "activation"),
    ("peephole new cell", PEEP, PEEP.replace("P[j] c[t-1,j] + b[j]", "P[j] h[t-1,j] + b[j]"), "wrong tensor"),
    ("leaky a twice", LEAKY, LEAKY.replace("(1 - a) h[t-1,j]", "a h[t-1,j]"), "complement"),
    ("leaky outside", LEAKY, LEAKY.replace("+ a tanh(", "+ tanh(a (").replace("x[t,K])", "x[t,K]))"), "misplaced"),
    ("cross keys of x", CROSS, CROSS.replace("v[s,i] = W_V[i,L] m[s,L]", "v[s,i] = W_K[i,L] m[s,L]"), "wrong tensor"),
    ("cross no residual", CROSS, CROSS.replace("x[t,i] + a", "a"), "missing term"),
    ("post norm of x", ADDN, ADDN.replace("(u[t,j] - m[t]) / sqrt", "(x[t,j] - m[t]) / sqrt"), "wrong tensor"),
    ("cbow sum", CBOW, CBOW.replace("1/N sum[n]", "sum[n]"), "scale"),
    ("bce second log", BCE, BCE.replace("(1 - y[n]) log(1 - p[n])", "(1 - y[n]) log(p[n])"), "complement"),
    ("bce one term", BCE, BCE.replace(" + (1 - y[n]) log(1 - p[n])", ""), "missing term"),
    ("trunc slope of next", TRUNC, TRUNC.replace("W[M,j] d[t+1,M]", "W[M,j] e[t+1,M]"), "wrong tensor"),
    ("conv pool before relu bias", CONV1, CONV1.replace("relu(z[t,o] + b[o])", "relu(z[t,o]) + b[o]"), "misplaced"),
    ("glu no gate bias", GLU, GLU.replace(" + c[o])", ")"), "missing term"),
    ("positions the other", POSN, POSN.replace("Q[t,i] = cos", "Q[t,i] = sin"), "activation"),
]
OTHER = [
    ("rnn inner +b outside", RNN, "a[t,m] = W[m,I] h[t-1,I] + U[m,K] x[t,K]\nh[t,m] = tanh(a[t,m]) + b[m]", "misplaced"),
    ("rnn inner no bias", RNN, "r[t,q] = sum[i](W[q,i] h[t-1,i])\nh[t,q] = tanh(r[t,q] + sum[k](U[q,k] x[t,k]))", "missing term"),
    ("rnn minus", RNN, "u[t,a] = U[a,B] x[t,B]\nh[t,a] = tanh(b[a] - u[t,a] + W[a,C] h[t-1,C])", "sign"),
    ("lm loss one", LM, "s[t,n] = H[n,M] h[t-1,M] + E[n,K] e[t,K] + b[n]\nh[t,n] = 1/(1+exp(-s[t,n]))\no[t,v] = c[v] + U[v,J] h[t,J]\np[t,v] = exp(o[t,v])/sum[w](exp(o[t,w]))\nCE = -sum[t,v](y[t,v] log(p[t,v]))", "scale"),
    ("lm log outside", LM, "h[s,n] = sigmoid(b[n] + E[n,K] e[s,K] + H[n,M] h[s-1,M])\np[s,w] = softmax[w](c[w] + U[w,J] h[s,J])\nCE = -1/T sum[s](log(sum[w](y[s,w])))", "not finite"),
    ("bptt missing future", BPTT, "d[t,i] = 1 - h[t,i]^2\ndelta[t,i] = d[t,i] g[t,i]\ndW[i,m] = sum[t](delta[t,i] h[t-1,m])\ndb[i] = sum[t](delta[t,i])", "missing term"),
    ("bptt no square", BPTT, "e[t,a] = g[t,a] + sum[m](W[m,a] delta[t+1,m])\ndelta[t,a] = e[t,a] - h[t,a] e[t,a]\ndW[a,n] = sum[t](delta[t,a] h[t-1,n])\ndb[a] = sum[t](delta[t,a])", "missing factor"),
    ("bptt bias mean", BPTT, "delta[t,q] = (1 - h[t,q] h[t,q]) (W[M,q] delta[t+1,M] + g[t,q])\ndW[q,n] = sum[t](h[t-1,n] delta[t,q])\ndb[q] = 1/T sum[t](delta[t,q])", "mean for sum"),
    ("bptts outer swapped", BPTTS, "s1[t,j] = h[t,j] - h[t,j]^2\ndelta[t,j] = s1[t,j] g[t,j] + s1[t,j] W[M,j] delta[t+1,M]\ndW[j,m] = sum[t](delta[t,j] h[t,m])\ndU[j,k] = sum[t](x[t,k] delta[t,j])", "wrong tensor"),
    ("bptts only (1-h)", BPTTS, "n[t,i] = g[t,i] + W[M,i] delta[t+1,M]\ndelta[t,i] = (1 - h[t,i]) n[t,i]\ndW[i,m] = sum[t](delta[t,i] s[t,m])\ndU[i,k] = sum[t](delta[t,i] x[t,k])", "missing factor"),
    ("gru z without h", GRU, "z[t,a] = sigmoid(U_z[a,K] x[t,K] + b_z[a])\nr[t,a] = sigmoid(W_r[a,I] h[t-1,I] + U_r[a,K] x[t,K] + b_r[a])\nq[t,a] = r[t,a] h[t-1,a]\nc[t,a] = tanh(b_c[a] + W_c[a,I] q[t,I] + U_c[a,K] x[t,K])\nh[t,a] = c[t,a] + z[t,a] (h[t-1,a] - c[t,a])", "missing term"),
    ("gru swapped diff", GRU, "z[t,a] = sigmoid(W_z[a,I] h[t-1,I] + U_z[a,K] x[t,K] + b_z[a])\nr[t,a] = sigmoid(W_r[a,I] h[t-1,I] + U_r[a,K] x[t,K] + b_r[a])\nq[t,a] = r[t,a] h[t-1,a]\nc[t,a] = tanh(b_c[a] + W_c[a,I] q[t,I] + U_c[a,K] x[t,K])\nh[t,a] = h[t-1,a] + z[t,a] (c[t,a] - h[t-1,a])", "gate swapped"),
    ("gru tanh gate", GRU, "r[t,a] = tanh(W_r[a,I] h[t-1,I] + U_r[a,K] x[t,K] + b_r[a])\nz[t,a] = sigmoid(W_z[a,I] h[t-1,I] + U_z[a,K] x[t,K] + b_z[a])\nc[t,a] = tanh(b_c[a] + W_c[a,I] r[t,I] h[t-1,I] + U_c[a,K] x[t,K])\nh[t,a] = c[t,a] - z[t,a] c[t,a] + z[t,a] h[t-1,a]", "activation"),
    ("lstm 1-f", LSTM, LSTM.replace("i[t,j] = sigmoid(W_i[j,I] h[t-1,I] + U_i[j,K] x[t,K])\n", "").replace("f[t,j] c[t-1,j] + i[t,j] g[t,j]", "f[t,j] c[t-1,j] + (1 - f[t,j]) g[t,j]"), "complement"),
    ("lstm cell no forget", LSTM, "a[t,n] = W_f[n,I] h[t-1,I] + U_f[n,K] x[t,K]\nf[t,n] = 1/(1 + exp(-a[t,n]))\ni[t,n] = sigmoid(U_i[n,K] x[t,K] + W_i[n,I] h[t-1,I])\no[t,n] = sigmoid(U_o[n,K] x[t,K] + W_o[n,I] h[t-1,I])\ng[t,n] = tanh(U_g[n,K] x[t,K] + W_g[n,I] h[t-1,I])\nc[t,n] = i[t,n] g[t,n] + c[t-1,n]\nh[t,n] = tanh(c[t,n]) o[t,n]", "missing factor"),
    ("lstm out old cell", LSTM, "i[t,n] = sigmoid(U_i[n,K] x[t,K] + W_i[n,I] h[t-1,I])\nf[t,n] = sigmoid(U_f[n,K] x[t,K] + W_f[n,I] h[t-1,I])\ng[t,n] = tanh(U_g[n,K] x[t,K] + W_g[n,I] h[t-1,I])\nc[t,n] = i[t,n] g[t,n] + f[t,n] c[t-1,n]\no[t,n] = sigmoid(U_o[n,K] x[t,K] + W_o[n,I] h[t-1,I])\nh[t,n] = tanh(c[t-1,n]) o[t,n]", "shifted index"),
    ("ugrnn minus", UGRNN, "n[t,a] = tanh(U[a,K] x[t,K] + W[a,I] h[t-1,I])\nf[t,a] = sigmoid(V[a,I] h[t-1,I] + Z[a,K] x[t,K] - B[a])\nh[t,a] = n[t,a] + f[t,a] (h[t-1,a] - n[t,a])", "sign"),
    ("ugrnn both gated same", UGRNN, "c[t,a] = tanh(U[a,K] x[t,K] + W[a,I] h[t-1,I])\ng[t,a] = sigmoid(B[a] + V[a,I] h[t-1,I] + Z[a,K] x[t,K])\nh[t,a] = g[t,a] (h[t-1,a] + c[t,a])", "complement"),
    ("att q of k", ATT, "k[n,a] = W_K[a,J] x[n,J]\ns[n,m] = 1/sqrt(I) sum[i](sum[j](W_Q[i,j] x[m,j]) k[n,i])\na[n,m] = softmax[m](s[n,m])\ny[n,a] = sum[m](a[n,m] sum[j](W_V[a,j] x[m,j]))\nsize I = 4".replace("\nsize I = 4", "").replace("k[n,a] = W_K[a,J] x[n,J]", "k[n,i] = W_K[i,J] x[n,J]"), "tensors swapped"),
    ("att values of keys", ATT, "q[n,e] = W_Q[e,J] x[n,J]\nk[n,e] = W_K[e,J] x[n,J]\nv[n,e] = W_K[e,J] x[n,J]\na[n,m] = exp(q[n,E] k[m,E]/sqrt(E)) / sum[l](exp(q[n,E] k[l,E]/sqrt(E)))\ny[n,e] = a[n,M] v[M,e]", "wrong tensor"),
    ("att scale after", ATT, "q[n,e] = W_Q[e,J] x[n,J]\nk[n,e] = W_K[e,J] x[n,J]\nv[n,f] = W_V[f,J] x[n,J]\nw[n,m] = softmax[m](q[n,E] k[m,E])\ny[n,f] = 1/sqrt(E) w[n,M] v[M,f]", "misplaced"),
    ("heads one key for all", HEADS, HEADS.replace("W_O[M,j,I] a[M,t,S] v[M,S,I]", "W_O[M,j,I] o[M,t,I]").replace("\ny[t,j]", "\no[m,t,i] = a[m,t,T] v[m,T,i]\ny[t,j]").replace("o[m,t,i] = a[m,t,T] v[m,T,i]", "o[m,t,i] = sum[s](a[m,s,t] v[m,s,i])"), "sum index"),
    ("causal reversed", CAUSAL, "e[n,m] = [m >= n] exp(q[n,I] k[m,I]/sqrt(I))\nz[n] = sum[m](e[n,m])\na[n,m] = e[n,m]/z[n]\ny[n,i] = a[n,M] v[M,i]", "mask"),
    ("causal norm over all", CAUSAL, "e[n,m] = exp(q[n,I] k[m,I]/sqrt(I))\nz[n] = sum[m](e[n,m])\na[n,m] = [m <= n] e[n,m]/z[n]\ny[n,i] = a[n,M] v[M,i]", "missing factor"),
    ("ln unbiased", LN, "m[n] = sum[i](x[n,i])/J\nd[n,j] = x[n,j] - m[n]\ns[n] = sum[j](d[n,j] d[n,j])/(J - 1)\ny[n,j] = beta[j] + gamma[j] d[n,j] / (s[n] + eps)^(1/2)", "scale"),
    ("ln not centred", LN, "m[n] = sum[i](x[n,i])/J\ns[n] = sum[j]((x[n,j] - m[n])^2)/J\ny[n,j] = beta[j] + gamma[j] x[n,j] / (s[n] + eps)^(1/2)", "missing term"),
    ("rms root missing", RMS, "q[n] = sum[k](x[n,k] x[n,k]) / J\ny[n,i] = x[n,i] gamma[i] / (eps + q[n])", "activation"),
    ("cel mean over k", CEL, "e[n,c] = exp(z[n,c])\np[n,c] = e[n,c] / e[n,K]\nL = -1/(N K) sum[n,c](y[n,c] log(p[n,c]))", "scale"),
    ("cel no log", CEL, "p[n,c] = softmax[c](z[n,c])\nL = -1/N sum[n,c](y[n,c] p[n,c])", "activation"),
    ("dce not mean", DCE, "p[m,c] = softmax[c](z[m,c])\ndz[m,c] = p[m,c] - y[m,c]\ndW[c,i] = dz[M,c] x[M,i]", "scale"),
    ("sgns sign", SGNS, "a = u[I] v[I]\nb[n] = w[n,I] v[I]\nL = -log(sigmoid(a)) - sum[n](log(sigmoid(b[n])))", "sign"),
    ("sgns log of sum", SGNS, "a = sum[i](u[i] v[i])\nL = -log(sigmoid(a)) - log(sum[n](sigmoid(-w[n,A] v[A])))", "sum scope"),
    ("conv bias outside relu", CONV, "c[s,o] = sum[d](sum[i](W[d,i,o] x[2*s+d,i]))\ny[s,o] = relu(c[s,o]) + b[o]\nsize d = 3", "misplaced"),
    ("conv2 shifted", CONV2, "y[a,b,o] = b[o] + sum[d,e,c](W[d,e,c,o] x[a+d+1,b+e,c])\nsize d = 2\nsize e = 3", "shifted index"),
    ("grid weights swapped", GRID, "z[r,s,j] = C[j,K] x[r,s,K]\nh[r,s,j] = tanh(z[r,s,j] + A[j,I] h[r,s-1,I] + B[j,I] h[r-1,s,I])", "tensors swapped"),
    ("pp no minus", PP, "l[t] = sum[v](y[t,v] log(p[t,v]))\nCE = -1/T sum[t](l[t])\nPP = exp(1/T sum[t](l[t]))", "sign"),
    ("adam bias", ADAM, "m[k] = g[k] + b1 (m0[k] - g[k])\nv[k] = b2 v0[k] + (1 - b2) g[k]\nw[k] = w0[k] - eta m[k] / (eps + sqrt(v[k]))", "missing factor"),
    ("momentum plus", SGDM, "m[k] = g[k] + mu m0[k]\nw[k] = w0[k] + eta m[k]", "sign"),
    ("highway carry z", HIGH, "s[k] = sigmoid(b[k] + V[k,I] x[I])\nn[k] = tanh(W[k,I] x[I])\ny[k] = s[k] n[k] + (1 - s[k]) n[k]", "wrong tensor"),
    ("bahdanau sum over t", BAH, "s[n,m] = v[A] tanh(W[A,I] h[n,I] + U[A,K] e[m,K])\na[n,m] = exp(s[n,m]) / sum[l](exp(s[l,m]))\nc[n,k] = a[n,M] e[M,k]", "softmax index"),
    ("tied no relu", TIED, "z[t,n] = E[K,n] x[t,K] + sum[m](W[n,m] h[t-1,m])\nh[t,n] = z[t,n]\ne[t,w] = exp(sum[n](E[w,n] h[t,n]))\np[t,w] = e[t,w]/sum[u](e[t,u])", "activation"),
    ("mqa scale", MQA, "q[a,n,i] = W_Q[a,i,J] x[n,J]\nk[n,i] = W_K[i,J] x[n,J]\nv[n,e] = W_V[e,J] x[n,J]\ns[a,n,l] = 1/I sum[i](q[a,n,i] k[l,i])\na[a,n,l] = softmax[l](s[a,n,l])\no[b,n,e] = sum[l](a[b,n,l] v[l,e])", "scale"),
    ("mqa values not weighed", MQA, "q[m,n,i] = W_Q[m,i,J] x[n,J]\nk[n,i] = W_K[i,J] x[n,J]\nv[n,e] = W_V[e,J] x[n,J]\na[m,n,l] = softmax[n](q[m,n,I] k[l,I]/I^(1/2))\no[m,n,e] = sum[l](v[l,e] a[m,n,l])", "softmax index"),
    ("alibi mask forgotten", ALIBI, "e[m,n,l] = exp(q[m,n,I] k[m,l,I]/sqrt(I) - c[m] (n - l))\na[m,n,l] = e[m,n,l]/sum[r](e[m,n,r])\ny[m,n,e] = a[m,n,L] v[m,L,e]", "mask"),
    ("swiglu silu outside", SWI, "a[n,f] = W_1[f,J] x[n,J]\nb[n,f] = W_2[f,J] x[n,J]\nc[n,f] = a[n,f] b[n,f]\ny[n,j] = sum[f](W_3[j,f] c[n,f]/(1 + exp(-c[n,f])))", "misplaced"),
    ("moe softmax over tokens", MOE, "l[n,e] = exp(sum[j](G[e,j] x[n,j]))\nr[n,e] = l[n,e]/sum[m](l[m,e])\ny[n,j] = sum[e](r[n,e] relu(W[e,j,I] x[n,I]))", "softmax index"),
    ("smooth log inside", SMOOTH, "q[a,b] = y[a,b] + eps (1/K - y[a,b])\nL = -1/N sum[a,b](q[a,b] log(p[a,b]))\nKL = sum[a,b](q[a,b] (log(p[a,b]) - log(q[a,b])))", "sign"),
    ("rmsprop eps", RMSP, "v[k] = g[k] g[k] + rho (v0[k] - g[k] g[k])\nw[k] = w0[k] - eta g[k]/(eps + v[k]^(1/2))", "epsilon"),
    ("adamw decay coupled", ADAMW, "s[i] = m[i]/(1 - b^n)\nr[i] = sqrt(v[i]/(1 - c^n)) + eps\nw[i] = w0[i] - eta s[i]/r[i] + eta lam w0[i]", "sign"),
    ("adamw no correction", ADAMW, "r[i] = eps + sqrt(v[i]/(1 - c^n))\nw[i] = w0[i] - eta m[i]/r[i] - eta lam w0[i]", "missing factor"),
    ("clip max", CLIP, "n = sum[i](g[i] g[i])^(1/2)\nd[i] = g[i] max(1, c/n)", "hard choice"),
    ("layer norm backward no mean", LNB, "s = (1/J sum[i]((x[i]-m)^2) + eps)^0.5\nz[i] = (x[i]-m)/s\na = sum[k](g[k] z[k])/J\ndx[i] = (g[i] - z[i] a)/s", "missing term"),
    ("lstm back f", LSTMB, "a[t,n] = tanh(c[t,n])\ndo[t,n] = dh[t,n] a[t,n]\ndc[t,n] = dc[t+1,n] f[t,n] + dh[t,n] o[t,n] (1 - a[t,n] a[t,n])\ndf[t,n] = c[t-1,n] dc[t,n]\ndi[t,n] = dc[t,n] g[t,n]\ndg[t,n] = dc[t,n] i[t,n]", "shifted index"),
    ("grid one neighbour", GRID2, "z[a,b,j] = b[j] + C[j,K] x[a,b,K]\nh[a,b,j] = tanh(z[a,b,j] + A[j,I] h[a-1,b,I] + B[j,I] h[a-1,b,I])".replace("z[a,b,j] = b[j] +", "z[a,c,j] = b[j] +").replace("x[a,b,K]", "x[a,c,K]").replace("h[a,b,j]", "h[a,c,j]").replace("z[a,b,j]", "z[a,c,j]").replace("h[a-1,b,I]", "h[a-1,c,I]"), "wrong tensor"),
    ("masked mean over all", MASKED, "l[s,r] = sum[v](y[s,r,v] log(p[s,r,v]))\nn = sum[s,r](w[s,r])\nCE = -1/(B T) sum[s,r](w[s,r] l[s,r])\nPP = exp(CE)", "scale"),
    ("adagrad forgets", ADAG, "s[k] = g[k] g[k]\nw[k] = w0[k] - eta g[k] / (eps + s[k]^0.5)", "missing term"),
    ("adagrad eps", ADAG, "s[k] = g[k] g[k] + s0[k]\nw[k] = w0[k] - eta g[k] (s[k] + eps)^(-1/2)", "epsilon"),
    ("stack reads old", STACK, "a[s,n] = U[n,K] x[s,K] + W[n,M] h[s-1,M]\nh[s,n] = tanh(a[s,n])\nb[s,n] = V[n,L] g[s-1,L] + Z[n,M] h[s-1,M]\ng[s,n] = tanh(b[s,n])", "shifted index"),
    ("stack reads x", STACK, "h[s,n] = tanh(W[n,M] h[s-1,M] + sum[k](U[n,k] x[s,k]))\nb[s,n] = Z[n,M] h[s,M] + V[n,M] h[s-1,M]\ng[s,n] = tanh(b[s,n])", "size"),
    ("beam times", BEAM, "s[a,v] = l[a] log(p[a,v])\nm[v] = max[a](s[a,v])\nn = log(sum[v](exp(m[v])))", "operation"),
    ("beam sum of exp", BEAM, "s[a,v] = log(p[a,v]) + l[a]\nm[v] = max[a](s[a,v])\nn = sum[v](exp(m[v]))", "hard choice"),
    ("cosine one norm", COS, "n[i] = sum[d](u[i,d] u[i,d])^(1/2)\nc[i,j] = sum[d](u[i,d] v[j,d]) / n[i]", "missing factor"),
    ("cosine squared norms", COS, "n[i] = sum[d](u[i,d] u[i,d])\nr[j] = sum[d](v[j,d] v[j,d])\nc[i,j] = sum[d](u[i,d] v[j,d]) / (n[i] r[j])", "activation"),
    ("glu added", GLU, "a[n,o] = b[o] + A[o,J] x[n,J]\ng[n,o] = 1/(1+exp(-C[o,J] x[n,J] - c[o]))\ny[n,o] = a[n,o] + g[n,o]", "operation"),
    ("glu same matrix", GLU, "a[n,o] = b[o] + A[o,J] x[n,J]\ng[n,o] = sigmoid(A[o,J] x[n,J] + c[o])\ny[n,o] = a[n,o] g[n,o]", "wrong tensor"),
    ("trunc dU summed over h", TRUNC, "r[t,k] = p[t,k] - y[t,k]\ne[t,n] = sum[k](V[k,n] r[t,k]) + W[M,n] d[t+1,M]\nd[t,n] = e[t,n] - h[t,n]^2 e[t,n]\ndV[k,n] = r[T,k] h[T,n]\ndU[n,i] = e[T,n] x[T,i]", "wrong tensor"),
    ("trunc logits sign", TRUNC, "r[t,k] = y[t,k] - p[t,k]\ne[t,n] = sum[k](V[k,n] r[t,k]) + W[M,n] d[t+1,M]\nd[t,n] = e[t,n] - h[t,n]^2 e[t,n]\ndV[k,n] = -r[T,k] h[T,n]\ndU[n,i] = d[T,n] x[T,i]", "sign"),
    ("bce gradient no mean", BCE, "z[n] = b + sum[i](w[i] x[n,i])\np[n] = exp(z[n])/(1 + exp(z[n]))\nL = -1/N sum[n](log(1 - p[n]) + y[n] (log(p[n]) - log(1 - p[n])))\ndw[i] = p[N] x[N,i] - y[N] x[N,i]", "scale"),
]
RIGHT = [
    (RNN, "z[t,n] = b[n] + sum[k](U[n,k] x[t,k]) + sum[m](W[n,m] h[t-1,m])\nh[t,n] = 2 sigmoid(2 z[t,n]) - 1"),
    (RNN, "z[t,n] = b[n] + U[n,K] x[t,K] + W[n,M] h[t-1,M]\nh[t,n] = (exp(z[t,n]) - exp(-z[t,n])) / (exp(z[t,n]) + exp(-z[t,n]))"),
    (LM, "z[t,n] = H[n,M] h[t-1,M] + E[n,K] e[t,K] + b[n]\nh[t,n] = exp(z[t,n])/(1+exp(z[t,n]))\no[t,v] = U[v,J] h[t,J] + c[v]\nn[t] = log(sum[v](exp(o[t,v])))\np[t,v] = exp(o[t,v] - n[t])\nl[t] = sum[v](y[t,v] log(p[t,v]))\nCE = -sum[t](l[t])/T"),
    (LM, "h[s,n] = sigmoid(b[n] + E[n,K] e[s,K] + H[n,M] h[s-1,M])\np[s,w] = softmax[w](c[w] + U[w,J] h[s,J])\nCE = 1/T sum[s,w](y[s,w] log(1/p[s,w]))"),
    (BPTT, "b[t,j] = g[t,j] + sum[m](delta[t+1,m] W[m,j])\ndelta[t,j] = b[t,j] - h[t,j] h[t,j] b[t,j]\ndW[j,m] = delta[T,j] h[T-1,m]\ndb[j] = sum[t](delta[t,j])".replace("dW[j,m] = delta[T,j] h[T-1,m]", "dW[j,m] = sum[s](delta[s,j] h[s-1,m])")),
    (BPTT, "d[t,j] = (1 - h[t,j]) (1 + h[t,j])\ndelta[t,j] = d[t,j] g[t,j] + d[t,j] sum[i](W[i,j] delta[t+1,i])\ndW[j,m] = sum[t](h[t-1,m] delta[t,j])\ndb[j] = sum[t](delta[t,j])"),
    (BPTTS, "delta[t,j] = (h[t,j] - h[t,j]^2) (W[M,j] delta[t+1,M] + g[t,j])\ndW[j,m] = delta[T,j] s[T,m]\ndU[j,k] = delta[T,j] x[T,k]"),
    (GRU, "z[t,a] = sigmoid(b_z[a] + U_z[a,K] x[t,K] + W_z[a,I] h[t-1,I])\nr[t,a] = 1 - sigmoid(-b_r[a] - U_r[a,K] x[t,K] - W_r[a,I] h[t-1,I])\nq[t,a] = r[t,a] h[t-1,a]\nc[t,a] = tanh(b_c[a] + W_c[a,I] q[t,I] + U_c[a,K] x[t,K])\nh[t,a] = c[t,a] + z[t,a] (h[t-1,a] - c[t,a])"),
    (GRU, "u[t,a] = sigmoid(-(b_z[a] + U_z[a,K] x[t,K] + W_z[a,I] h[t-1,I]))\nr[t,a] = sigmoid(b_r[a] + U_r[a,K] x[t,K] + W_r[a,I] h[t-1,I])\nc[t,a] = tanh(b_c[a] + W_c[a,I] h[t-1,I] r[t,I] + U_c[a,K] x[t,K])\nh[t,a] = u[t,a] c[t,a] + (1 - u[t,a]) h[t-1,a]"),
    (LSTM, "f[t,n] = sigmoid(U_f[n,K] x[t,K] + W_f[n,I] h[t-1,I])\ni[t,n] = sigmoid(U_i[n,K] x[t,K] + W_i[n,I] h[t-1,I])\no[t,n] = sigmoid(U_o[n,K] x[t,K] + W_o[n,I] h[t-1,I])\nw[t,n] = tanh(U_g[n,K] x[t,K] + W_g[n,I] h[t-1,I])\nc[t,n] = i[t,n] w[t,n] + c[t-1,n] f[t,n]\nh[t,n] = o[t,n] (2/(1+exp(-2 c[t,n])) - 1)"),
    (UGRNN, "n[t,a] = tanh(U[a,K] x[t,K] + W[a,I] h[t-1,I])\nf[t,a] = sigmoid(V[a,I] h[t-1,I] + Z[a,K] x[t,K] + B[a])\nh[t,a] = n[t,a] + f[t,a] (h[t-1,a] - n[t,a])"),
    (UGRNN, "h[t,a] = tanh(U[a,K] x[t,K] + W[a,I] h[t-1,I]) + sigmoid(V[a,I] h[t-1,I] + Z[a,K] x[t,K] + B[a]) (h[t-1,a] - tanh(U[a,K] x[t,K] + W[a,I] h[t-1,I]))"),
    (ATT, "M[j,l] = W_Q[I,j] W_K[I,l]\ns[n,m] = x[n,J] M[J,L] x[m,L] / sqrt(I)\na[n,m] = softmax[m](s[n,m])\nz[n,j] = a[n,M] x[M,j]\ny[n,i] = W_V[i,J] z[n,J]".replace("M[j,l]", "R[j,l]").replace("M[J,L]", "R[J,L]").replace("a[n,M] x[M,j]", "sum[m](a[n,m] x[m,j])")),
    (ATT, "q[t,i] = W_Q[i,J] x[t,J] / sqrt(I)\nk[t,i] = W_K[i,J] x[t,J]\ne[t,s] = exp(q[t,I] k[s,I])\nn[t,i] = sum[s,j](e[t,s] W_V[i,j] x[s,j])\ny[t,i] = n[t,i] / sum[s](e[t,s])"),
    (HEADS, "r[m,t,j] = W_Q[m,I,J] x[t,J] W_K[m,I,j]\na[m,t,s] = softmax[s](r[m,t,J] x[s,J]/sqrt(I))\no[m,t,l] = a[m,t,S] x[S,l]\ny[t,j] = W_O[M,j,I] W_V[M,I,L] o[M,t,L]"),
    (HEADS, "a[m,t,s] = softmax[s](W_Q[m,I,J] x[t,J] W_K[m,I,L] x[s,L]/sqrt(I))\nR[m,j,l] = W_O[m,j,I] W_V[m,I,l]\ny[t,j] = a[M,t,S] R[M,j,L] x[S,L]"),
    (CAUSAL, "e[n,m] = exp(q[n,I] k[m,I]/sqrt(I)) if m <= n else 0\nz[n] = sum[m](e[n,m])\ny[n,i] = e[n,M] v[M,i] / z[n]"),
    (CAUSAL, "s[n,m] = q[n,I] k[m,I] / I^(1/2)\ny[n,i] = sum[m](softmax[m](s[n,m] if m <= n else -inf) v[m,i])"),
    (LN, "m[n] = sum[i](x[n,i])/J\nq[n] = sum[i](x[n,i]^2)/J\nd[n] = q[n] - m[n]^2\ny[n,j] = beta[j] + gamma[j] (x[n,j] - m[n]) (d[n] + eps)^(-1/2)"),
    (LN, "d[n,j] = x[n,j] - 1/J sum[i](x[n,i])\ny[n,j] = beta[j] + gamma[j] d[n,j] / sqrt(1/J d[n,I]^2 + eps)".replace("1/J d[n,I]^2", "1/J sum[i](d[n,i]^2)")),
    (RMS, "y[n,i] = gamma[i] x[n,i] sqrt(J) / sqrt(sum[k](x[n,k]^2) + J eps)"),
    (RMS, "q[n] = eps + sum[k](x[n,k] x[n,k]) / J\ny[n,i] = x[n,i] gamma[i] q[n]^(-0.5)"),
    (CEL, "p[n,c] = softmax[c](z[n,c])\nL = 1/N sum[n](sum[c](-y[n,c] log(p[n,c])))"),
    (CEL, "n[a] = log(sum[c](exp(z[a,c])))\np[a,c] = exp(z[a,c] - n[a])\nL = -1/N sum[a,c](y[a,c] log(p[a,c]))"),
    (DCE, "p[n,k] = exp(z[n,k])/sum[l](exp(z[n,l]))\ndz[n,k] = p[n,k]/N - y[n,k]/N\ndW[k,i] = 1/N (p[M,k] - y[M,k]) x[M,i]"),
    (TEMP, "p[k] = softmax[k](z[k]/tau)"),
    (TEMP, "p[k] = 1 / sum[l](exp((z[l]-z[k])/tau))"),
    (SG, "e[w] = exp(U[w,A] v[A])\np[w] = e[w]/sum[u](e[u])\nL = -sum[w](y[w] log(p[w]))\ndv[a] = p[W] U[W,a] - y[W] U[W,a]"),
    (SGNS, "L = log(1 + exp(-u[A] v[A])) + sum[n](log(1 + exp(w[n,A] v[A])))"),
    (SGNS, "L = softplus(-u[A] v[A]) - sum[n](log(1 - sigmoid(w[n,A] v[A])))"),
    (CONV, "y[s,o] = max(0, b[o] + W[D,I,o] x[2*s+D,I])\nsize D = 3"),
    (CONV, "c[s,o] = W[0,I,o] x[2*s,I] + W[1,I,o] x[2*s+1,I] + W[2,I,o] x[2*s+2,I]\ny[s,o] = relu(c[s,o] + b[o])"),
    (CONV2, "y[a,c,o] = b[o] + sum[d](sum[e](sum[k](W[d,e,k,o] x[a+d,c+e,k])))\nsize d = 2\nsize e = 3"),
    (GRID, "z[r,s,j] = C[j,K] x[r,s,K] + A[j,I] h[r-1,s,I]\nh[r,s,j] = tanh(z[r,s,j] + B[j,M] h[r,s-1,M])"),
    (PP, "CE = 1/T sum[t,v](y[t,v] log(1/p[t,v]))\nPP = prod[t](prod[v](p[t,v]^(-y[t,v])))^(1/T)"),
    (POS, "y[t,i] = x[t,i] + sin(t c^(-2*i/I))\nP[t,i] = sin(t c^(-2*i/I))"),
    (SGDM, "m[k] = g[k] + mu m0[k]\nw[k] = w0[k] - eta mu m0[k] - eta g[k]"),
    (ADAM, "m[k] = g[k] + b1 (m0[k] - g[k])\nv[k] = g[k] g[k] - b2 (g[k]^2 - v0[k])\nw[k] = w0[k] - m[k] eta / (eps + v[k]^0.5)"),
    (HIGH, "s[k] = sigmoid(b[k] + V[k,I] x[I])\ny[k] = x[k] + s[k] (tanh(W[k,I] x[I]) - x[k])"),
    (BAH, "a[n,m] = exp(v[A] tanh(W[A,I] h[n,I] + U[A,K] e[m,K]))\nz[n] = sum[m](a[n,m])\nc[n,k] = a[n,M] e[M,k] / z[n]"),
]
# fmt: on

# Derivations: the system, the chain, the verdict on each line.
# fmt: off
CHAINS = [
    ("ce right", "p[k] = softmax[k](z[k])\nJ = -sum[k](y[k] log(p[k]))\ndistribution y", "dJ/dz[i] = sum[k](dJ/dp[k] dp[k]/dz[i])\n = sum[k](-y[k]/p[k] p[k] ([i == k] - p[i]))\n = -y[i] + p[i] sum[k](y[k])\n = p[i] - y[i]", ["right", "right", "right", "right"]),
    ("ce sign", "p[k] = softmax[k](z[k])\nJ = -sum[k](y[k] log(p[k]))\ndistribution y", "dJ/dz[i] = sum[k](dJ/dp[k] dp[k]/dz[i])\n = sum[k](-y[k]/p[k] p[k] (p[i] - [i == k]))\n = y[i] - p[i] sum[k](y[k])\n = y[i] - p[i]", ["right", "wrong", "follows", "follows"]),
    ("ce lost y", "p[k] = softmax[k](z[k])\nJ = -sum[k](y[k] log(p[k]))\ndistribution y", "dJ/dz[i] = sum[k](-y[k] ([i == k] - p[i]))\n = sum[k](-y[k] [i == k]) + sum[k](y[k] p[i])\n = -y[i] + p[i] K\n = p[i] - y[i]", ["right", "right", "wrong", "right again"]),
    ("rnn back right", "z[t,j] = h[t-1,M] H[M,j] + x[t,j]\nh[t,j] = tanh(z[t,j])\nJ = g[T,J] h[T,J]", "dJ/dh[t-1,m] = sum[j](dJ/dz[t,j] dz[t,j]/dh[t-1,m])\n = sum[j](dJ/dz[t,j] H[m,j])\n = sum[j](dJ/dh[t,j] (1 - h[t,j]^2) H[m,j])", ["wrong", "follows", "follows"]),
    ("rnn back transposed", "z[t,j] = h[t-1,M] H[M,j] + x[t,j]\nh[t,j] = tanh(z[t,j])\nJ = g[T,J] h[T,J]", "dJ/dh[t-1,m] = sum[j](dJ/dz[t,j] dz[t,j]/dh[t-1,m])\n = sum[j](dJ/dz[t,j] H[j,m])\n = sum[j](dJ/dh[t,j] (1 - h[t,j]^2) H[j,m])", ["wrong", "wrong", "follows"]),
    ("rnn slope", "z[t,j] = h[t-1,M] H[M,j] + x[t,j]\nh[t,j] = tanh(z[t,j])\nJ = g[T,J] h[T,J]", "dJ/dz[t,j] = dJ/dh[t,j] dh[t,j]/dz[t,j]\n = dJ/dh[t,j] h[t,j] (1 - h[t,j])", ["right", "wrong"]),
    ("rnn weights", "z[t,j] = h[t-1,M] H[M,j] + x[t,j]\nh[t,j] = tanh(z[t,j])\nJ = g[T,J] h[T,J]", "dJ/dH[m,j] = sum[t](dJ/dz[t,j] dz[t,j]/dH[m,j])\n = sum[t](dJ/dz[t,j] h[t-1,m])", ["right", "right"]),
    ("rnn weights wrong step", "z[t,j] = h[t-1,M] H[M,j] + x[t,j]\nh[t,j] = tanh(z[t,j])\nJ = g[T,J] h[T,J]", "dJ/dH[m,j] = sum[t](dJ/dz[t,j] h[t,m])\n = sum[t](dJ/dh[t,j] (1 - h[t,j]^2) h[t,m])", ["wrong", "follows"]),
    ("sig chain right", "z[j] = W[j,I] x[I] + b[j]\nh[j] = sigmoid(z[j])\nJ = sum[j]((h[j] - y[j])^2)", "dJ/dW[j,i] = dJ/dh[j] dh[j]/dz[j] dz[j]/dW[j,i]\n = 2 (h[j] - y[j]) h[j] (1 - h[j]) x[i]", ["right", "right"]),
    ("sig chain no 2", "z[j] = W[j,I] x[I] + b[j]\nh[j] = sigmoid(z[j])\nJ = sum[j]((h[j] - y[j])^2)", "dJ/dW[j,i] = dJ/dh[j] dh[j]/dz[j] dz[j]/dW[j,i]\n = (h[j] - y[j]) h[j] (1 - h[j]) x[i]\n = 2 (h[j] - y[j]) h[j] (1 - h[j]) x[i]", ["right", "wrong", "right again"]),
    ("sig bias", "z[j] = W[j,I] x[I] + b[j]\nh[j] = sigmoid(z[j])\nJ = sum[j]((h[j] - y[j])^2)", "dJ/db[j] = dJ/dz[j]\n = dJ/dh[j] h[j] (1 - h[j])\n = 2 (h[j] - y[j]) h[j] (1 - h[j])", ["right", "right", "right"]),
    ("sig x no sum", "z[j] = W[j,I] x[I] + b[j]\nh[j] = sigmoid(z[j])\nJ = sum[j]((h[j] - y[j])^2)", "dJ/dx[i] = sum[j](dJ/dz[j] W[j,i])\n = sum[j](2 (h[j] - y[j]) (1 - h[j]) W[j,i])", ["right", "wrong"]),
    ("variance right", "m = 1/J sum[j](x[j])\nv = 1/J sum[j]((x[j] - m)^2)", "1/J sum[j]((x[j] - m)^2) = 1/J sum[j](x[j]^2 - 2 m x[j] + m^2)\n = 1/J sum[j](x[j]^2) - 2 m^2 + m^2\n = 1/J sum[j](x[j]^2) - m^2", ["right", "right", "right"]),
    ("variance wrong", "m = 1/J sum[j](x[j])\nv = 1/J sum[j]((x[j] - m)^2)", "1/J sum[j]((x[j] - m)^2) = 1/J sum[j](x[j]^2 - 2 m x[j] + m^2)\n = 1/J sum[j](x[j]^2) - 2 m + m^2\n = 1/J sum[j](x[j]^2) - m^2", ["right", "wrong", "right again"]),
    ("att merge right", "q[t,i] = W_Q[i,J] x[t,J]\nk[t,i] = W_K[i,J] x[t,J]\ns[t,u] = q[t,I] k[u,I]", "s[t,u] = q[t,I] k[u,I]\n = sum[i](W_Q[i,J] x[t,J] k[u,i])\n = sum[i,j,l](W_Q[i,j] x[t,j] W_K[i,l] x[u,l])\n = sum[j,l](x[t,j] sum[i](W_Q[i,j] W_K[i,l]) x[u,l])", ["right", "right", "right", "right"]),
    ("att merge swapped", "q[t,i] = W_Q[i,J] x[t,J]\nk[t,i] = W_K[i,J] x[t,J]\ns[t,u] = q[t,I] k[u,I]", "s[t,u] = sum[i,j,l](W_Q[i,j] x[t,j] W_K[i,l] x[u,l])\n = sum[j,l](x[u,j] sum[i](W_Q[i,j] W_K[i,l]) x[t,l])", ["right", "wrong"]),
    ("lse right", "l = log(sum[k](exp(z[k])))", "dl/dz[i] = 1/sum[k](exp(z[k])) exp(z[i])\n = exp(z[i]) / sum[k](exp(z[k]))\n = exp(z[i] - l)", ["right", "right", "right"]),
    ("lse wrong", "l = log(sum[k](exp(z[k])))", "dl/dz[i] = 1/sum[k](exp(z[k]))\n = exp(-l)", ["wrong", "follows"]),
    ("perp right", "CE = -1/T sum[t](log(p[t]))\nPP = exp(CE)", "PP = exp(-1/T sum[t](log(p[t])))\n = prod[t](exp(-1/T log(p[t])))\n = prod[t](p[t]^(-1/T))\n = prod[t](1/p[t])^(1/T)", ["right", "right", "right", "right"]),
    ("perp wrong", "CE = -1/T sum[t](log(p[t]))\nPP = exp(CE)", "PP = exp(-1/T sum[t](log(p[t])))\n = sum[t](p[t]^(-1/T))\n = prod[t](p[t]^(-1/T))", ["right", "wrong", "right again"]),
    ("sg right", "s[w] = U[w,A] v[A]\np[w] = softmax[w](s[w])\nJ = -sum[w](y[w] log(p[w]))\ndistribution y", "dJ/dv[a] = sum[w](dJ/ds[w] ds[w]/dv[a])\n = sum[w]((p[w] - y[w]) U[w,a])\n = p[W] U[W,a] - y[W] U[W,a]", ["right", "right", "right"]),
    ("sg U", "s[w] = U[w,A] v[A]\np[w] = softmax[w](s[w])\nJ = -sum[w](y[w] log(p[w]))\ndistribution y", "dJ/dU[w,a] = dJ/ds[w] v[a]\n = (p[w] - 1) v[a]\n = (p[w] - y[w]) v[a]", ["right", "wrong", "right again"]),
    ("gate right", "g[j] = sigmoid(a[j])\nh[j] = g[j] c[j] + (1 - g[j]) s[j]\nJ = sum[j](w[j] h[j])", "dJ/da[j] = dJ/dh[j] dh[j]/dg[j] dg[j]/da[j]\n = w[j] (c[j] - s[j]) g[j] (1 - g[j])", ["right", "right"]),
    ("gate wrong", "g[j] = sigmoid(a[j])\nh[j] = g[j] c[j] + (1 - g[j]) s[j]\nJ = sum[j](w[j] h[j])", "dJ/da[j] = dJ/dh[j] dh[j]/dg[j] dg[j]/da[j]\n = w[j] (c[j] + s[j]) g[j] (1 - g[j])", ["right", "wrong"]),
    ("bce right", "p = sigmoid(z)\nL = -y log(p) - (1 - y) log(1 - p)", "dL/dz = dL/dp dp/dz\n = (-y/p + (1 - y)/(1 - p)) p (1 - p)\n = -y (1 - p) + (1 - y) p\n = p - y", ["right", "right", "right", "right"]),
    ("tanh right", "a[j] = W[j,I] x[I]\nh[j] = tanh(a[j])\nJ = 1/2 sum[j]((h[j] - y[j])^2)", "dJ/dW[j,i] = dJ/dh[j] dh[j]/da[j] da[j]/dW[j,i]\n = (h[j] - y[j]) (1 - h[j]^2) x[i]", ["right", "right"]),
    ("tanh no minus", "a[j] = W[j,I] x[I]\nh[j] = tanh(a[j])\nJ = 1/2 sum[j]((h[j] - y[j])^2)", "dJ/dW[j,i] = dJ/dh[j] dh[j]/da[j] da[j]/dW[j,i]\n = (h[j] + y[j]) (1 - h[j]^2) x[i]", ["right", "wrong"]),
    ("tanh lost x", "a[j] = W[j,I] x[I]\nh[j] = tanh(a[j])\nJ = 1/2 sum[j]((h[j] - y[j])^2)", "dJ/dW[j,i] = dJ/da[j] x[i]\n = (h[j] - y[j]) (1 - h[j]^2)", ["right", "wrong"]),
    ("tanh 1-h", "a[j] = W[j,I] x[I]\nh[j] = tanh(a[j])\nJ = 1/2 sum[j]((h[j] - y[j])^2)", "dJ/da[j] = dJ/dh[j] (1 - h[j]^2)\n = dJ/dh[j] (1 - h[j]) (1 + h[j])\n = (h[j] - y[j]) (1 - h[j])^2", ["right", "right", "wrong"]),
    ("attention right", "s[t] = q[I] k[t,I]\na[t] = softmax[t](s[t])\nc[i] = sum[t](a[t] v[t,i])", "dc[i]/dv[t,m] = a[t] [i == m]", ["right"]),
    ("attention ds", "s[t] = q[I] k[t,I]\na[t] = softmax[t](s[t])\nc[i] = sum[t](a[t] v[t,i])", "dc[i]/ds[t] = sum[u](v[u,i] da[u]/ds[t])\n = sum[u](v[u,i] a[u] ([u == t] - a[t]))\n = a[t] (v[t,i] - c[i])", ["right", "right", "right"]),
    ("attention ds wrong", "s[t] = q[I] k[t,I]\na[t] = softmax[t](s[t])\nc[i] = sum[t](a[t] v[t,i])", "dc[i]/ds[t] = sum[u](v[u,i] da[u]/ds[t])\n = sum[u](v[u,i] a[u] (1 - a[t]))\n = a[t] (v[t,i] - c[i])", ["right", "wrong", "right again"]),
    ("attention dq", "s[t] = q[I] k[t,I]\na[t] = softmax[t](s[t])\nc[i] = sum[t](a[t] v[t,i])", "dc[i]/dq[m] = sum[t](dc[i]/ds[t] k[t,m])\n = sum[t](a[t] (v[t,i] - c[i]) k[t,m])\n = sum[t](a[t] v[t,i] k[t,m]) - c[i] sum[t](k[t,m])", ["right", "right", "wrong"]),
    ("last right", "z[t,j] = W[j,I] h[t-1,I] + U[j,K] x[t,K]\nh[t,j] = sigmoid(z[t,j])\nJ = g[I] h[T-1,I]", "dJ/dh[t-1,m] = sum[j](dJ/dz[t,j] W[j,m])\n = sum[j](dJ/dh[t,j] h[t,j] (1 - h[t,j]) W[j,m])", ["right", "right"]),
    ("last index", "z[t,j] = W[j,I] h[t-1,I] + U[j,K] x[t,K]\nh[t,j] = sigmoid(z[t,j])\nJ = g[I] h[T-1,I]", "dJ/dh[t-1,m] = sum[j](dJ/dz[t,j] W[j,m])\n = sum[j](dJ/dh[t,j] h[t-1,j] (1 - h[t-1,j]) W[j,m])", ["right", "wrong"]),
    ("residual right", "y[j] = x[j] + W[j,K] relu(V[K,I] x[I])\nJ = g[J] y[J]", "dJ/dx[i] = sum[j](g[j] dy[j]/dx[i])\n = g[i] + sum[j,k](g[j] W[j,k] [V[k,L] x[L] > 0] V[k,i])", ["right", "right"]),
    ("residual lost", "y[j] = x[j] + W[j,K] relu(V[K,I] x[I])\nJ = g[J] y[J]", "dJ/dx[i] = sum[j](g[j] dy[j]/dx[i])\n = sum[j,k](g[j] W[j,k] [V[k,L] x[L] > 0] V[k,i])", ["right", "wrong"]),
]
# Counts: the right one, its symbols, the answer, whether they are equal; and orders of growth.
COUNTS = [
    ("4*(h*(h+d) + h)", "h d", "4h^2 + 4dh + 4h", True),
    ("4*(h*(h+d) + h)", "h d", "4 h (h + d + 1)", True),
    ("4*(h*(h+d) + h)", "h d", "4(h^2 + hd)", False),
    ("4*(h*(h+d) + h)", "h d", "3(h^2 + hd + h)", False),
    ("V*D + D*(D+d) + D", "V D d", "D(V + D + d + 1)", True),
    ("V*D + D*(D+d) + D", "V D d", "|V|D + D² + dD + D", True),
    ("V*D + D*(D+d) + D", "V D d", "V D + D^2 + d D + V", False),
    ("T*(T+1)/2", "T", r"\sum_{t=1}^{T} t", True),
    ("T*(T+1)/2", "T", "binom(T+1, 2)", True),
    ("T*(T+1)/2", "T", "T^2/2 + T/2", True),
    ("T*(T+1)/2", "T", "T(T-1)/2", False),
    ("T*(T+1)/2", "T", "1 + 2 + ... + T", True),
    ("2*T^2*d + 4*T*d^2", "T d", "2Td(T + 2d)", True),
    ("2*T^2*d + 4*T*d^2", "T d", "4 T d^{2} + 2 T^{2} d", True),
    ("2*T^2*d + 4*T*d^2", "T d", "4Td^2 + T^2 d", False),
    ("n_h*d_k*d*4", "n_h d_k d", "4 n_h d_k d", True),
    ("n_h*d_k*d*4", "n_h d_k d", "4 d d_k", False),
    ("floor((n - k)/s) + 1", "n k s", r"\lfloor \frac{n-k}{s} \rfloor + 1", True),
    ("floor((n - k)/s) + 1", "n k s", "(n - k)//s + 1", True),
    ("floor((n - k)/s) + 1", "n k s", "floor((n - k + s)/s)", True),
    ("floor((n - k)/s) + 1", "n k s", "(n - k)/s + 1", False),
    ("ceil(log2(T))", "T", r"\lceil \log_2 T \rceil", True),
    ("ceil(log2(T))", "T", "floor(log2(T))", False),
    ("2^L", "L", "2**L", True),
    ("2^(L+1) - 1", "L", r"\sum_{l=0}^{L} 2^l", True),
    ("2^(L+1) - 1", "L", "2*2^L - 1", True),
    ("2^(L+1)-1", "L", "2^L + 1", False),
    ("exp(H)", "H", "e^H", True),
    ("2^H", "H", "exp(H log(2))", True),
    ("1/sqrt(d)", "d", "d^(-1/2)", True),
    ("1/sqrt(d)", "d", "1/d", False),
    ("1/(1+exp(-z))", "z", "exp(z)/(1+exp(z))", True),
    ("1/(1+exp(-z))", "z", "1/(1+exp(z))", False),
    ("(w-1)*L + 1", "w L", "L(w - 1) + 1", True),
    ("(w-1)*L + 1", "w L", "wL - L + 1", True),
    ("(w-1)*L + 1", "w L", "w L", False),
]
GROWTHS = [
    ("T^2*d + T*d^2", "", "O(T d (T + d))", True),
    ("T^2*d + T*d^2", "", "O(Td max(T, d))", True),
    ("T^2*d + T*d^2", "", "O(T^2 d)", False),
    ("T^2*d + T*d^2", "d <= T", "O(T^2 d)", True),
    ("T*d^2", "", r"\mathcal{O}(T \cdot d^{2})", True),
    ("T*d^2", "", "O(2 T d^2 + T)", True),
    ("T*log(V)", "", "O(T log_2 V)", True),
    ("T*log(V)", "", "O(T V)", False),
    ("V^n", "", "O(V^n)", True),
    ("V^n", "", "O(n^V)", False),
    ("V^n", "", "O(V^(n+1))", False),
    ("log(T)", "", "O(log(T^2))", True),
    ("T*w*d", "w <= T", "O(T^2 d)", False),
    ("1", "", "O(1)", True),
    ("T", "", "O(T log T)", False),
    ("sqrt(T)*T", "", "O(T^1.5)", True),
    ("L*T", "", "O(T)", False),
    ("max(T, L)", "", "O(T + L)", True),
    ("T*L", "", "O(T + L)", False),
    ("2^T", "", "O(4^T)", False),
    ("2^T", "", "O(2^(T+3))", True),
]
# fmt: on
