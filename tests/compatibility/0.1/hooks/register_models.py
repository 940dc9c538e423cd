from reame_core.hookspecs import hookimpl


@hookimpl
def register_models():
    return {
        "house-0.5b": {
            "source": "https://models.example.org/house-0.5b-q4_k_m.gguf",
            "quantisation": "Q4_K_M",
            "context": 8192,
            "suits": "the house's own questions",
        }
    }
