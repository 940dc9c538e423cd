"""What an answer says: small judges that read one out of a text, so that equal answers vote together."""
