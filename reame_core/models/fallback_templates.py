"""What is used where a model has no chat template, or one that cannot be read."""

from __future__ import annotations

CHATML_MARK = "<|im_start|>"

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

PLAIN = (
    "{% for message in messages %}"
    "{{ '### ' + message['role'] | capitalize + ':\n' + message['content'] + '\n\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}"
)
PLAIN_STOPS = ("\n### User:", "\n### Assistant:", "\n### System:")
"""A model that was never taught turns goes on with the user's next one."""
