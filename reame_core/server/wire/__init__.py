"""What goes over the wire: request bodies as they are read, responses as they are written."""
