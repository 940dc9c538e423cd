"""Text to tokens and back, by the model's own vocabulary. May be used from any thread."""

from __future__ import annotations

import ctypes

from reame_core.errors import InvalidRequest
from reame_core.llama.bindings import lib
from reame_core.llama.model import LlamaModel

_TYPES = {1: "SPM", 2: "BPE", 3: "WPM", 4: "UGM", 5: "RWKV", 6: "PLAMO2"}


class Vocabulary:
    """What ``model`` reads and writes."""

    def __init__(self, model: LlamaModel) -> None:
        self._handle = model.vocabulary
        self.size = int(lib.llama_vocab_n_tokens(self._handle))
        self._pieces: dict[int, bytes] = {}

    def tokenize(self, text: str, *, parse_special: bool = False, enclosed: bool = False) -> list[int]:
        """The tokens of ``text``; ``enclosed`` in those that the model wants at beginning and end."""
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                f"the text is not valid Unicode: character {error.start} is half of a surrogate pair"
            ) from None
        size = len(data) + 8
        while True:
            buffer = (ctypes.c_int32 * size)()
            count = lib.llama_tokenize(self._handle, data, len(data), buffer, size, enclosed, parse_special)
            if count >= 0:
                return buffer[:count]
            size = -count

    def piece(self, token: int) -> bytes:
        """The bytes of ``token``, none for control tokens."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._read_piece(token)
        return piece

    def _read_piece(self, token: int) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = lib.llama_token_to_piece(self._handle, token, buffer, size, 0, False)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def text_of(self, token: int) -> str:
        """The vocabulary's own entry for ``token``, such as ``<|im_end|>``."""
        if token < 0:
            return ""
        text = lib.llama_vocab_get_text(self._handle, token)
        return text.decode(errors="replace") if text else ""

    def special_tokens(self) -> dict[str, int]:
        """Control tokens by their text. Some models' control tokens are marked as user defined (gpt-oss's
        ``<|channel|>``), and are recognised by their form."""
        attribute, handle = lib.llama_vocab_get_attr, self._handle
        control = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
        wanted = control | lib.LLAMA_TOKEN_ATTR_USER_DEFINED
        found: dict[str, int] = {}
        for token in range(self.size):
            kind = attribute(handle, token)
            if kind & wanted:
                text = self.text_of(token)
                if text and (kind & control or (text.startswith("<|") and text.endswith("|>"))):
                    found[text] = token
        return found

    def end_tokens(self, special: dict[str, int]) -> frozenset[int]:
        """Tokens after which the model has finished; they are all among the ``special`` ones or stand at the
        vocabulary's fixed places."""
        known = {*special.values(), lib.llama_vocab_eos(self._handle), lib.llama_vocab_eot(self._handle)}
        return frozenset(t for t in known if t >= 0 and lib.llama_vocab_is_eog(self._handle, t))

    @property
    def type(self) -> str:
        """The algorithm that cuts text into tokens."""
        return _TYPES.get(int(lib.llama_vocab_type(self._handle)), "unknown")

    @property
    def bos(self) -> int | None:
        token = int(lib.llama_vocab_bos(self._handle))
        return token if token >= 0 else None

    @property
    def eos(self) -> int | None:
        token = int(lib.llama_vocab_eos(self._handle))
        return token if token >= 0 else None

    @property
    def fill_in_middle(self) -> tuple[int, int, int] | None:
        """Prefix, suffix and middle token, where the model has all three."""
        handle = self._handle
        prefix = int(lib.llama_vocab_fim_pre(handle))
        suffix = int(lib.llama_vocab_fim_suf(handle))
        middle = int(lib.llama_vocab_fim_mid(handle))
        return (prefix, suffix, middle) if min(prefix, suffix, middle) >= 0 else None

    @property
    def adds_bos(self) -> bool:
        return bool(lib.llama_vocab_get_add_bos(self._handle))
