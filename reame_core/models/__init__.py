"""Model files and what is known of them before they are loaded: headers, names, chat templates, prompts."""
