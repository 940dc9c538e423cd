"""Real GGUF files of a few kilobytes with random weights: architectures for which no small model is at hand."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

_WIDTH, _INNER, _STATE, _CONV, _RANK, _LAYERS = 64, 128, 8, 4, 4, 2
_BYTES = 256
_VOCABULARY = 3 + _BYTES


def write_mamba(path: Path) -> Path:
    """A recurrent model (Mamba) with a byte vocabulary."""
    random = np.random.default_rng(7)

    def matrix(*shape: int, scale: float = 0.5) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    writer = gguf.GGUFWriter(path, "mamba")
    writer.add_context_length(2048)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_block_count(_LAYERS)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(_INNER)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_RANK)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(0)
    _add_byte_vocabulary(writer)
    writer.add_tensor("token_embd.weight", matrix(_VOCABULARY, _WIDTH, scale=1.0))
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    for layer in range(_LAYERS):
        block = f"blk.{layer}"
        writer.add_tensor(f"{block}.attn_norm.weight", np.ones(_WIDTH, np.float32))
        writer.add_tensor(f"{block}.ssm_in.weight", matrix(2 * _INNER, _WIDTH))
        writer.add_tensor(f"{block}.ssm_conv1d.weight", matrix(_INNER, _CONV))
        writer.add_tensor(f"{block}.ssm_conv1d.bias", matrix(_INNER))
        writer.add_tensor(f"{block}.ssm_x.weight", matrix(_RANK + 2 * _STATE, _INNER, scale=0.2))
        writer.add_tensor(f"{block}.ssm_dt.weight", matrix(_INNER, _RANK))
        writer.add_tensor(f"{block}.ssm_dt.bias", matrix(_INNER))
        writer.add_tensor(f"{block}.ssm_a", -np.abs(matrix(_INNER, _STATE)) - 0.05)
        writer.add_tensor(f"{block}.ssm_d", np.ones(_INNER, np.float32))
        writer.add_tensor(f"{block}.ssm_out.weight", matrix(_WIDTH, _INNER, scale=0.3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


SLIDING_WINDOW = 32


def write_sliding_window(path: Path) -> Path:
    """A model of Gemma 3's form: five layers that see ``SLIDING_WINDOW`` tokens, then one that sees all."""
    random = np.random.default_rng(11)
    heads, head_width, hidden, layers = 2, 32, 128, 6

    def matrix(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_context_length(2048)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(head_width)
    writer.add_value_length(head_width)
    writer.add_sliding_window(SLIDING_WINDOW)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(0)
    _add_byte_vocabulary(writer)
    writer.add_tensor("token_embd.weight", matrix(_VOCABULARY, _WIDTH) * 4)
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    for layer in range(layers):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", np.ones(_WIDTH, np.float32))
        for norm in ("attn_q_norm", "attn_k_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", np.ones(head_width, np.float32))
        writer.add_tensor(f"{block}.attn_q.weight", matrix(heads * head_width, _WIDTH))
        writer.add_tensor(f"{block}.attn_k.weight", matrix(head_width, _WIDTH))
        writer.add_tensor(f"{block}.attn_v.weight", matrix(head_width, _WIDTH))
        writer.add_tensor(f"{block}.attn_output.weight", matrix(_WIDTH, heads * head_width))
        writer.add_tensor(f"{block}.ffn_gate.weight", matrix(hidden, _WIDTH))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(hidden, _WIDTH))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(_WIDTH, hidden))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_byte_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(_BYTES))]
    kind = gguf.TokenType
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * _BYTES])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
