#pragma once
// Encoders whose config.json is read: BERT and what has its layers. They are planned with their
// masked-LM head, as transformers' BertForMaskedLM; pooler and next-sentence head are left out.

#include "model/hf_reader.h"
#include "model/model.h"

namespace plait::hf {

Model read_bert(HfReader& config);
Model read_roberta(HfReader& config);

}  // namespace plait::hf
