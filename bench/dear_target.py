"""A model that costs more and says the same: ``python -m bench.dear_target SOURCE TARGET --layers 400``.

Layers are added behind the last one, copies of it, in which the matrices that write back into the residual
stream (the attention's output and the feed-forward network's down projection) are zero. They are computed like
any other, and add nothing. So the source is a draft model that is always right,
and the target as dear as wanted.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import gguf
import numpy as np

_LAYER = re.compile(r"blk\.(\d+)\.(.+)")
_WRITING = ("attn_output.weight", "attn_output.bias", "ffn_down.weight", "ffn_down.bias")
_DERIVED = {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture"}


def with_idle_layers(source: Path, target: Path, layers: int) -> int:
    """Write ``source`` to ``target`` with so many ``layers`` more; how many there are then."""
    reader = gguf.GGUFReader(source)
    architecture = str(reader.fields["general.architecture"].contents())
    count_key = f"{architecture}.block_count"
    before = int(reader.fields[count_key].contents())
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name in _DERIVED or name == count_key:
            continue
        value_type = field.types[0]
        sub_type = field.types[-1] if value_type == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), value_type, sub_type)
    writer.add_uint32(count_key, before + layers)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        matched = _LAYER.fullmatch(tensor.name)
        if matched is None or int(matched[1]) != before - 1:
            continue
        # All bits zero are a matrix of zeros in every quantisation with a scale.
        data = np.zeros_like(tensor.data) if matched[2] in _WRITING else tensor.data
        for index in range(before, before + layers):
            writer.add_tensor(f"blk.{index}.{matched[2]}", data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return before + layers


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--layers", type=click.IntRange(1), default=400, show_default=True)
def main(source: Path, target: Path, layers: int) -> None:
    """Write SOURCE to TARGET with idle layers added."""
    click.echo(f"{target}: {with_idle_layers(source, target, layers)} layers")


if __name__ == "__main__":
    main()
