from collections.abc import Callable

import httpx
from reame_old_routes.plugin import OldRoutes


def test_the_length_of_a_text(reame_server: Callable[..., str]) -> None:
    url = f"{reame_server(OldRoutes())}/v1/old-routes/length"
    answer = httpx.post(url, json={"text": "Hello"})
    assert answer.status_code == 200
    assert answer.json()["tokens"] > 0
    assert answer.json()["fits"]


def test_bad_input_is_the_clients_error(reame_server: Callable[..., str]) -> None:
    answer = httpx.post(f"{reame_server(OldRoutes())}/v1/old-routes/length", json={"text": 5})
    assert answer.status_code == 400
    assert "error" in answer.json()
