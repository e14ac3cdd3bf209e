"""The use cases: what people do through the bot, the command line or a page. The only user of the Temporal client."""
