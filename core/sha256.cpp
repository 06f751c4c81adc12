#include "core/sha256.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace plait {
namespace {

using Word = std::uint32_t;
constexpr std::size_t kRounds = 64;
constexpr std::size_t kBlock = 64;  // bytes
__extension__ using Wide = unsigned __int128;

constexpr bool is_prime(Word n) {
  for (Word d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

/// The first 32 bits behind the point of the square (root = 2) or cube root (root = 3) of p: the
/// largest x with x^root <= p * 2^(32 root), modulo 2^32. p < 2^9, so x < 2^37 and x^3 fits.
constexpr Word root_fraction(Word p, int root) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 37;
  while (high - low > 1) {
    const std::uint64_t mid = (low + high) / 2;
    const Wide power = root == 2 ? Wide{mid} * mid : Wide{mid} * mid * mid;
    if (power <= Wide{p} << (32 * root)) {
      low = mid;
    } else {
      high = mid;
    }
  }
  return static_cast<Word>(low);
}

template <std::size_t N>
constexpr std::array<Word, N> of_first_primes(int root) {
  std::array<Word, N> out{};
  Word p = 2;
  for (Word& word : out) {
    while (!is_prime(p)) ++p;
    word = root_fraction(p++, root);
  }
  return out;
}

// FIPS 180-4, sections 4.2.2 and 5.3.3.
constexpr auto kConstants = of_first_primes<kRounds>(3);
constexpr auto kInitial = of_first_primes<8>(2);

Word big_endian(const char* bytes) {
  Word word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

/// FIPS 180-4, section 6.2.2; letters as there.
void absorb(std::array<Word, 8>& hash, const char* block) {
  std::array<Word, kRounds> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < kRounds; ++t) {
    const Word s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const Word s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t t = 0; t < kRounds; ++t) {
    const Word s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word t1 = h + s1 + ((e & f) ^ (~e & g)) + kConstants[t] + w[t];
    const Word s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<Word, 8> mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) hash[i] += mixed[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  // Padding: a one bit, zeros, and the length in bits as 64-bit big endian, to a whole block.
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  while (tail.size() % kBlock != kBlock - 8) tail += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift & 0xFF);

  std::array<Word, 8> hash = kInitial;
  for (std::size_t at = 0; at < whole; at += kBlock) absorb(hash, bytes.data() + at);
  for (std::size_t at = 0; at < tail.size(); at += kBlock) absorb(hash, tail.data() + at);
  std::string out;
  for (const Word word : hash) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace plait
