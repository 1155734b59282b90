"""The scripts of the peer of `fine_tuned`: the common start, the part of the task, and the training."""

# bfloat16 by torch.autocast; batches of about equal numbers of tokens, padded to their longest row. The part
# between the start and the training defines `head`, `lengths`, `loss_of` and `predicted`.
BEGIN = """
import json, sys, time, torch, transformers
rows, folder, options = json.load(open(sys.argv[1])), sys.argv[2], json.loads(sys.argv[3])
torch.manual_seed(options["seed"])
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
encoder = transformers.AutoModel.from_pretrained(folder)
(texts, targets), (asked, _) = rows["train"], rows["validation"]
dropout = torch.nn.Dropout(0.1)
"""
# Mean pooling.
TEXTS = """
classes = None if options["regression"] else sorted(set(targets))
y = torch.tensor([t if classes is None else classes.index(t) for t in targets])
head = torch.nn.Linear(encoder.config.hidden_size, len(classes) if classes else 1)
lengths = [len(ids) for ids in tokenizer(*map(list, zip(*texts)))["input_ids"]]

def logits(texts):
    inputs = tokenizer(*map(list, zip(*texts)), padding=True, truncation=True,
                       max_length=options["max_length"], return_tensors="pt")
    mask = inputs["attention_mask"][:, :, None]
    x = encoder(**inputs).last_hidden_state.float()
    return head(dropout((x * mask).sum(1) / mask.sum(1)))

def loss_of(chosen):
    found = logits([texts[row] for row in chosen]).float()
    if classes is None:
        return torch.nn.functional.mse_loss(found[:, 0], y[chosen])
    return torch.nn.functional.cross_entropy(found, y[chosen])

def predicted(texts):
    found = logits(texts)
    return found[:, 0].tolist() if classes is None else [classes[index] for index in found.argmax(1)]
"""
# The first piece of each word predicts its tag.
TAGS = """
classes = sorted({tag for tags in targets for tag in tags})
head = torch.nn.Linear(encoder.config.hidden_size, len(classes))
lengths = [len(ids) for ids in tokenizer(texts, is_split_into_words=True)["input_ids"]]

def read(texts):
    inputs = tokenizer(texts, is_split_into_words=True, padding=True, truncation=True,
                       max_length=options["max_length"], return_tensors="pt")
    firsts = []
    for row in range(len(texts)):
        words = inputs.word_ids(row)
        firsts.append([index for index, word in enumerate(words) if word is not None and word != words[index - 1]])
    x = encoder(**inputs).last_hidden_state.float()
    return head(dropout(x)), firsts

def loss_of(chosen):
    found, firsts = read([texts[row] for row in chosen])
    logits = torch.cat([row[indices] for row, indices in zip(found, firsts)])
    right = [classes.index(tag) for row, indices in zip(chosen, firsts) for tag in targets[row][:len(indices)]]
    return torch.nn.functional.cross_entropy(logits.float(), torch.tensor(right))

def predicted(texts):
    found, firsts = read(texts)
    tags = [[classes[label] for label in row[indices].argmax(1)] for row, indices in zip(found, firsts)]
    return [row + ["O"] * (len(words) - len(row)) for row, words in zip(tags, texts)]
"""
# Windows of a context; a window without the answer predicts its first token.
QUESTIONS = """
head = torch.nn.Linear(encoder.config.hidden_size, 2)

def windows_of(texts):
    return tokenizer(*map(list, zip(*texts)), truncation="only_second", max_length=options["max_length"],
                     stride=options["doc_stride"], return_overflowing_tokens=True, return_offsets_mapping=True)

def position_in(windows, index, answer):
    first, last = answer["start"], answer["start"] + len(answer["text"]) - 1
    found = [windows.char_to_token(index, character, 1) for character in (first, last)]
    return [0, 0] if None in found else found

def logits(windows, chosen):
    inputs = {name: [windows[name][index] for index in chosen] for name in tokenizer.model_input_names}
    return head(dropout(encoder(**tokenizer.pad(inputs, return_tensors="pt")).last_hidden_state.float()))

known = windows_of(texts)
lengths = [len(ids) for ids in known["input_ids"]]
y = torch.tensor([position_in(known, index, targets[row][0])
                  for index, row in enumerate(known["overflow_to_sample_mapping"])])

def loss_of(chosen):
    found = logits(known, chosen).float()
    inside = torch.arange(found.shape[1])[None] < torch.tensor([lengths[index] for index in chosen])[:, None]
    found = found.masked_fill(~inside[:, :, None], -1e9)
    return torch.nn.functional.cross_entropy(found, y[chosen])

def predicted(texts):
    windows = windows_of(texts)
    best = [(-1e9, "")] * len(texts)
    for index, row in enumerate(windows["overflow_to_sample_mapping"]):
        of_context = torch.tensor([which == 1 for which in windows.sequence_ids(index)])
        start, end = logits(windows, [index])[0].masked_fill(~of_context[:, None], -1e9).T
        long = torch.arange(len(end))[None] - torch.arange(len(start))[:, None]
        allowed = (long >= 0) & (long < options["max_answer_length"])
        spans = (start[:, None] + end).masked_fill(~allowed, -1e9)
        first, last = divmod(int(spans.argmax()), len(start))
        offsets = windows["offset_mapping"][index]
        best[row] = max(best[row], (float(spans.max()), texts[row][1][offsets[first][0]:offsets[last][1]]))
    return [text for _, text in best]
"""
TRAINING = """
size = max(1, round(options["max_tokens"] / (sum(lengths) / len(lengths))))
weights = [*encoder.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(weights, lr=options["learning_rate"], weight_decay=0.01)
steps = options["epochs"] * -(-len(lengths) // size)
schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
encoder.train()
started = time.perf_counter()
for _ in range(options["epochs"]):
    for chosen in torch.randperm(len(lengths)).split(size):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(chosen.tolist())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
seconds = time.perf_counter() - started
encoder.eval(), dropout.eval()
with torch.no_grad():
    found = [value for start in range(0, len(asked), 64) for value in predicted(asked[start:start + 64])]
print(json.dumps({"predictions": found, "seconds": seconds}))
"""
