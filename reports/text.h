#pragma once
// A report on one screen: the verdict first, then speed, where the time goes, the memory of the
// fullest rank, what would help most, and how sure the numbers are.

#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

std::string to_text(const Report& report, const TerminalStyle& style);

/// "FITS  64.3 GiB of 79.1 GiB ..." or "DOES NOT FIT  ...", what is biggest and by how much it is
/// over.
std::vector<Line> verdict_lines(const MemoryReport& memory);

/// The waterfall: weights, gradients, optimizer, activations with the largest tensors named,
/// overheads, free.
std::vector<Line> memory_lines(const MemoryReport& memory, int width);

/// "label  text", the text wrapped to `width` columns with the label's indentation.
std::vector<Line> labelled_lines(const std::string& label, const std::string& text, int width);

/// name, amount, percent and a bar that fills what is left of the line.
Line bar_line(const std::string& name, const std::string& amount, double fraction, int width);

/// "10 % more nvlink bandwidth"
std::string what_if_text(const std::string& resource);

}  // namespace plait
