"""Peers of text classification, as scripts that read rows and the folder of MiniLM, and print the accuracy."""

_ROWS = """
import json, sys
rows = json.load(open(sys.argv[1]))
(texts, labels), (asked, true) = (zip(*rows[split]) for split in ("train", "validation"))
"""

TF_IDF = (
    _ROWS
    + """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10, max_iter=1000))
print(model.fit(texts, labels).score(asked, true))
"""
)

_MINILM = (
    _ROWS
    + """
import torch, transformers
torch.manual_seed(0)
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[2])
encoder = transformers.AutoModel.from_pretrained(sys.argv[2])
def encode(texts):
    inputs = tokenizer(list(texts), padding=True, truncation=True, max_length=64, return_tensors="pt")
    mask = inputs["attention_mask"][:, :, None]
    return (encoder(**inputs).last_hidden_state * mask).sum(1) / mask.sum(1)
"""
)

FROZEN = (
    _MINILM
    + """
from sklearn.linear_model import LogisticRegression
encoder.eval()
with torch.no_grad():
    vectors, others = encode(texts).numpy(), encode(asked).numpy()
print(LogisticRegression(C=10, max_iter=1000).fit(vectors, labels).score(others, true))
"""
)

# AdamW, 1e-4 with a tenth of warm-up and a straight line down, 12 epochs, batches of 16, dropout as the encoder has it.
FINE_TUNING = (
    _MINILM
    + """
names = sorted(set(labels))
targets = torch.tensor([names.index(label) for label in labels])
head = torch.nn.Linear(encoder.config.hidden_size, len(names))
epochs, size = 12, 16
weights = [*encoder.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(weights, lr=1e-4, weight_decay=0.01)
steps = epochs * -(-len(texts) // size)
schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
encoder.train()
for _ in range(epochs):
    for chosen in torch.randperm(len(texts)).split(size):
        logits = head(encode([texts[row] for row in chosen]))
        loss = torch.nn.functional.cross_entropy(logits, targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
encoder.eval()
with torch.no_grad():
    found = head(encode(asked)).argmax(1)
print(sum(names[one] == label for one, label in zip(found.tolist(), true)) / len(true))
"""
)

PEERS = {
    "TF-IDF + logistic regression": TF_IDF,
    "frozen MiniLM + logistic regression (torch)": FROZEN,
    "plain fine-tuning (torch)": FINE_TUNING,
}
