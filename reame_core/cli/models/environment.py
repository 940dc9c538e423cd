"""What the environment says about models and downloads, for the pages of the commands that look at it."""

from __future__ import annotations

FOLDERS = (
    ("REAME_HOME", "the folder for settings, models, state and cache"),
    ("REAME_MODEL__FOLDER", "the folder for models (default: ~/.reame/models)"),
    ("REAME_MODEL__CATALOGUE", "a file of further models by name"),
)
DOWNLOADS = (
    *FOLDERS,
    ("HF_TOKEN", "the token for private and gated repositories; sent to the hub alone"),
    ("HF_ENDPOINT", "the address of the hub or of a mirror (default: https://huggingface.co)"),
    ("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "proxies, also in lower case"),
    ("SSL_CERT_FILE", "certificates to trust"),
)
