"""Block Kit structure; the words come from `templates/slack`."""
