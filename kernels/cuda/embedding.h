#pragma once
// Token, learned position and token-type embeddings on the device: kernels/embedding.h, T = float
// or bf16. Sums run in the order of the rows, in float: the same bits in every run.

#include "kernels/cuda/queue.h"
#include "kernels/embedding.h"

namespace plait::kernels::cuda {

/// out[rows, width] = table[tokens[r] - vocab_offset], or 0 where the token's row is elsewhere.
template <class T>
void embedding_forward(const Queue& q, T* out, const std::int64_t* tokens, const T* table,
                       std::int64_t rows, std::int64_t width, std::int64_t vocab,
                       std::int64_t vocab_offset);

/// dtable[vocab, width] = (`accumulate`: +=) sum of dout[rows, width] by token. For (G, T) =
/// (float, float), (float, bf16) and (bf16, bf16). rows < 2^31, vocab <= 2^22.
template <class G, class T>
void embedding_backward(const Queue& q, G* dtable, const std::int64_t* tokens, const T* dout,
                        std::int64_t rows, std::int64_t width, std::int64_t vocab,
                        std::int64_t vocab_offset, bool accumulate);

/// out[s, b, width] = in + table[place(s) / run]. `out` may be `in`. `run` positions share a row:
/// one each, or those of a text, whose type the row is of.
template <class T>
void positions_forward(const Queue& q, T* out, const T* in, const T* table, std::int64_t sequence,
                       std::int64_t batch, std::int64_t width, const Positions& place,
                       std::int64_t run = 1);

/// dtable[positions, width] = (`accumulate`: +=) sum over the batch, and the positions that share a
/// row, of dout[s, b, width]; G and T as above.
template <class G, class T>
void positions_backward(const Queue& q, G* dtable, const T* dout, std::int64_t sequence,
                        std::int64_t batch, std::int64_t width, std::int64_t positions,
                        const Positions& place, bool accumulate, std::int64_t run = 1);

}  // namespace plait::kernels::cuda
