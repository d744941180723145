"""From a chapter's source to what students get: lint, build, release, the answer bank and its gate, the bundle."""
