#pragma once
// Token, learned position and token-type embeddings. A rank may hold rows vocab_offset ..
// vocab_offset + vocab of the token table; the results of the ranks then add up to the whole.

#include <cstdint>

#include "kernels/positions.h"

namespace plait::kernels {

/// out[rows, width] = table[tokens[r] - vocab_offset], or 0 where the token's row is elsewhere.
template <class T>
void embedding_forward(T* out, const std::int64_t* tokens, const T* table, std::int64_t rows,
                       std::int64_t width, std::int64_t vocab, std::int64_t vocab_offset);

/// dtable[vocab, width] = (`accumulate`: +=) sum of dout[rows, width] by token.
template <class T>
void embedding_backward(T* dtable, const std::int64_t* tokens, const T* dout, std::int64_t rows,
                        std::int64_t width, std::int64_t vocab, std::int64_t vocab_offset,
                        bool accumulate);

/// out[s, b, width] = in + table[place(s) / run]. `out` may be `in`. `run` positions share a row:
/// one each, or those of a text, whose type the row is of.
template <class T>
void positions_forward(T* out, const T* in, const T* table, std::int64_t sequence,
                       std::int64_t batch, std::int64_t width, const Positions& place,
                       std::int64_t run = 1);

/// dtable[positions, width] = (`accumulate`: +=) sum over the batch, and the positions that share a
/// row, of dout[s, b, width].
template <class T>
void positions_backward(T* dtable, const T* dout, std::int64_t sequence, std::int64_t batch,
                        std::int64_t width, std::int64_t positions, const Positions& place,
                        bool accumulate, std::int64_t run = 1);

}  // namespace plait::kernels
