"""Models as other programs read them: folders of Hugging Face and GGUF files."""
