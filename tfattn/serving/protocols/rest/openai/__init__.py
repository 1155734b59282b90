"""OpenAI's API: completions and chats, whole or as a stream of events; embeddings; and reranking."""
