"""Texts as OpenAI's API asks for them: completions and chats, whole or as a stream of events."""
