"""L3: KV cells that one server has computed start others, through the plugin diskkv."""
