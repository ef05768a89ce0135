"""The language in the reader's page: what answers there, and the kit of files that brings it."""
