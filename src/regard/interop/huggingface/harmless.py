"""Settings that a config.json of any age may hold although they change nothing of what a model computes."""

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "it says who wrote the file, from what, and with which version": (
        "_name_or_path", "architectures", "finetuning_task", "model_type", "name", "transformers_version",
        "vocab_size_or_config_json_file",
    ),
    "it is read where it belongs: labels with the head, symbols with the tokenizer": (
        "_num_labels", "bos_token_id", "decoder_start_token_id", "eos_token_id", "eos_token_ids", "id2label",
        "label2id", "mask_token_id", "num_labels", "pad_token_id", "problem_type", "sep_token_id", "cls_token_id",
        "tokenizer_class", "unk_token_id", "vocab_size", "vocab_type",
    ),
    "it says what a call of transformers returns, or how it is run there": (
        "_attn_implementation_autoset", "_attn_implementation_internal", "attn_implementation",
        "gradient_checkpointing", "output_attentions", "output_hidden_states", "output_past", "output_scores",
        "return_dict", "return_dict_in_generate", "torchscript", "use_cache", "xla_device",
    ),
    "it names the type in which weights were saved, which their file says itself": (
        "dtype", "torch_dtype", "use_bfloat16",
    ),
    "it acts on the first weights alone, before any training": ("initializer_range", "initializer_factor"),
    "it was a default of generation before generation_config.json, and the same for every family": (
        "diversity_penalty", "do_sample", "early_stopping", "length_penalty", "max_length", "min_length",
        "num_beam_groups", "num_beams", "num_return_sequences", "prefix", "remove_invalid_values",
        "repetition_penalty", "task_specific_params", "temperature", "top_k", "top_p", "typical_p",
    ),
    "it divides work on a machine, not what is computed": ("chunk_size_feed_forward",),
    "it described a pooler that the published code never built (multilingual BERT)": (
        "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
        "pooler_size_per_head", "pooler_type",
    ),
}  # fmt: skip
"""By reason. ``pruned_heads`` is not among them: where it is empty it says nothing, as any setting that is null, false,
0 or empty, and where it names heads, tensors are smaller than ours."""
HARMLESS = frozenset(name for names in REASONS.values() for name in names)
