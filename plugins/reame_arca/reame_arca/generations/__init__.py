"""L4: what one server has generated becomes drafts of the others, through the plugin palimpsest."""
