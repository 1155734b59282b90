"""Folders of Hugging Face, which `transformers.AutoModel...` and `AutoTokenizer` load."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from tfattn import console, files
from tfattn.formats.markdown import code, fence
from tfattn.preprocessing.images import Images
from tfattn.pretrained.hugging_face import CONFIG
from tfattn.pretrained.hugging_face_vit import PIXELS
from tfattn.pretrained.tensor_files import SAFETENSORS
from tfattn.sharing import counterparts, parity, read_back
from tfattn.sharing.counterparts import Counterpart
from tfattn.sharing.heads import Head, encoder_alone, head_of
from tfattn.sharing.probes import probe
from tfattn.sharing.tokenizer_files import chat_template, tokenizer_files
from tfattn.sharing.trained_export import TrainedExport
from tfattn.trained import model_card

GENERATION = "generation_config.json"
BILINEAR = 2  # of Pillow, whose filters are antialiased as those of the preprocessing
POOLING, NORMALIZE = "1_Pooling", "2_Normalize"  # of sentence-transformers
_POOLING_MODES = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}


def write(export: TrainedExport, folder: Path, *, encoder_only: bool = False) -> None:
    """Write an export into an empty folder, and compare what is read from there.

        config.json, model.safetensors           the architecture and the weights in float32
        tokenizer.json, tokenizer_config.json    the tokenizer; preprocessor_config.json for images
        generation_config.json                   end tokens and sampling of a language model
        README.md                                the model card

    Args:
        export: the export.
        folder: the folder, whose content is discarded after an error.
        encoder_only: whether to leave out the head of the task; sentence-transformers then also reads the folder, as
            that of the task embedding.

    Raises:
        ExportError: the model, its head or its tokenizer has no counterpart in transformers, or transformers computes
            something else.
    """
    reads_images = bool(export.preprocessor.file_fields)
    if reads_images:
        files.write_json(folder / PIXELS, {**_resizing(export.preprocessor), **_pixels(export)})
        special_ids = {}
    else:
        text_files = tokenizer_files(export)
        text_files.write(folder)
        special_ids = text_files.ids
    found = counterparts.find(
        export.model,
        export.arguments,
        folder,
        preprocessor=export.weights.preprocessor,
        where=str(export.folder),
        special_ids=special_ids,
    )
    head = encoder_alone(export) if encoder_only else head_of(export, found.architecture)
    files.write_json(folder / CONFIG, _config(export, found, head))
    if head.suffix in ("ForCausalLM", "ForSeq2SeqLM"):
        make = _generation if head.suffix == "ForCausalLM" else _search
        files.write_json(folder / GENERATION, make(export, special_ids))
    if encoder_only or export.task == "embedding":
        _write_modules(folder, export)
    tensors = counterparts.tensors(found, head.values, export.arguments) | head.tensors
    save_file(tensors, folder / SAFETENSORS, {"format": "pt"})
    inputs, task = probe(export), export.build_task()
    with console.step(f"reading {SAFETENSORS} again"):
        read_back.check_weights(folder, found.reader, head.values)
        read_back.check_outputs(folder, task.model, inputs)
        if not reads_images:
            read_back.check_ids(folder, inputs)
    compared = parity.check(folder, task, head, inputs)
    card = model_card.text(
        export.folder,
        library="transformers",
        pipeline="feature-extraction" if encoder_only else None,
        summary=f"{head.class_name(found.architecture)} of transformers.",
        use=_use(export, head, reads_images),
        differences=differences(export),
        check=compared,
    )
    files.write_text(folder / model_card.CARD, card)


def differences(export: TrainedExport) -> list[str]:
    """Describe what the SavedModel does around the model, and a written model does not."""
    settings, preprocessing = export.task_settings, export.config["data"]["preprocessing"]
    found = []
    if preprocessing.get("doc_stride") is not None:
        found.append("The SavedModel reads long texts in windows; the tokenizer here cuts them.")
    if export.card.get("threshold") is not None:
        label = export.card.get("positive")
        which = code(label) if label else "a label"
        found.append(f"The SavedModel predicts {which} from a score of {export.card['threshold']:.6g} on.")
    if export.card.get("temperature") is not None:
        found.append(f"The SavedModel divides logits by a temperature of {export.card['temperature']:.6g}.")
    if export.card.get("coverage") is not None:
        found.append(f"The SavedModel returns sets or intervals with a coverage of {export.card['coverage']:g}.")
    if settings.get("threshold", 0.5) != 0.5:
        found.append(f"The SavedModel predicts every label with a score of at least {settings['threshold']:g}.")
    if export.task == "translation":
        found.append("The beam search of the SavedModel ends and compares texts by its own settings.")
    if (settings.get("dimensions") or [export.arguments.get("hidden_dim")])[0] != export.arguments.get("hidden_dim"):
        found.append(f"The SavedModel cuts vectors to {settings['dimensions'][0]} dimensions: set `truncate_dim`.")
    if settings.get("range"):
        low, high = settings["range"]
        found.append(f"The SavedModel bounds its predictions to {low:g} to {high:g}.")
    if preprocessing.get("fit") == "pad" or _is_cropped_to_a_strip(preprocessing):
        found.append("The image processor here does not resize: resize the images as the SavedModel does.")
    if export.preprocessor.file_fields:
        found.append("Images are resized by another library, so pixels may differ in the last bit.")
    else:
        found.append("Names of special tokens in a text are special tokens here, and plain text in the SavedModel.")
    return found


def _is_cropped_to_a_strip(preprocessing: Mapping[str, Any]) -> bool:
    size = preprocessing.get("size")
    return preprocessing.get("fit", "crop") == "crop" and isinstance(size, list) and size[0] != size[1]


def _config(export: TrainedExport, found: Counterpart, head: Head) -> dict[str, Any]:
    """Return the content of config.json."""
    return {
        "architectures": [head.class_name(found.architecture)],
        **found.config,
        **head.settings,
        "torch_dtype": "float32",
    }


def _generation(export: TrainedExport, special_ids: Mapping[str, int]) -> dict[str, Any]:
    """Return the content of generation_config.json."""
    properties = export.asset("generation.json") or {}
    template, special = chat_template(export), properties.get("special_tokens", {})
    ends = [special_ids["eos_token_id"], *([special[template.end]] if template else [])]
    return {**special_ids, "eos_token_id": list(dict.fromkeys(ends)), **_sampling(properties.get("defaults", {}))}


def _search(export: TrainedExport, special_ids: Mapping[str, int]) -> dict[str, Any]:
    """Return the same for the beam search of a translator."""
    decoding = export.config["task"].get("decoding") or {}
    suppressed = export.preprocessor.suppressed_ids
    length_penalty = decoding.get("length_penalty", 0.6) if decoding.get("length_penalty_offset") == 0 else 1.0
    return {
        **special_ids,
        "num_beams": decoding.get("num_beams", 4),
        "length_penalty": length_penalty,
        "max_length": export.arguments["max_sequence_length"],
        "bad_words_ids": [[row] for row in suppressed if row != special_ids["eos_token_id"]],
    }


def _sampling(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sampling settings by the names of transformers; none for greedy decoding."""
    if not defaults.get("temperature"):
        return {"do_sample": False}
    names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
    return {"do_sample": True, **{name: defaults[name] for name in names if defaults.get(name)}}


def _use(export: TrainedExport, head: Head, reads_images: bool) -> str:
    reader = "AutoImageProcessor" if reads_images else "AutoTokenizer"
    lines = [
        f"from transformers import {reader}, {head.auto_class}",
        "",
        f'reader = {reader}.from_pretrained("{export.name}")',
        f'model = {head.auto_class}.from_pretrained("{export.name}")',
    ]
    return fence("\n".join(lines), "python")


def _resizing(images: Images) -> dict[str, Any]:
    height, width = images.height_and_width
    size = {"height": height, "width": width}
    if images.fit_to == "crop" and height == width:
        resizing = {"size": {"shortest_edge": height}, "do_center_crop": True, "crop_size": size}
        return {"image_processor_type": "BitImageProcessor", "do_resize": True, "resample": BILINEAR, **resizing}
    # No processor of transformers adds black borders: such images have to be resized before.
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": images.fit_to == "squash",
        "resample": BILINEAR,
        "size": size,
    }


def _pixels(export: TrainedExport) -> dict[str, Any]:
    return {
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(export.arguments["pixel_mean"]),
        "image_std": list(export.arguments["pixel_deviation"]),
    }


def _write_modules(folder: Path, export: TrainedExport) -> None:
    """Write the files with which sentence-transformers pools as the task; others than means and [CLS] have none.

    Of an embedding also its normalization, and its prompts as those of queries and documents.
    """
    settings = export.task_settings
    mode = settings.get("pooling") or "mean"
    if mode not in _POOLING_MODES or settings.get("pooled_layers") not in (None, 1) or export.preprocessor.file_fields:
        return
    modules = {"": "Transformer", POOLING: "Pooling"} | ({NORMALIZE: "Normalize"} if settings.get("normalize") else {})
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(modules.items())
    ]
    files.write_json(folder / "modules.json", listed)
    files.write_json(
        folder / "sentence_bert_config.json", {"max_seq_length": export.weights.max_length, "do_lower_case": False}
    )
    (folder / POOLING).mkdir()
    modes = {name: name == _POOLING_MODES[mode] for name in _POOLING_MODES.values()}
    files.write_json(
        folder / POOLING / "config.json", {"word_embedding_dimension": export.arguments["hidden_dim"], **modes}
    )
    if export.task == "embedding":
        columns, prompts = export.examples["columns"], export.examples["prompts"]
        named = zip(("query", "document"), columns, strict=False)
        files.write_json(
            folder / "config_sentence_transformers.json",
            {"prompts": {name: prompts.get(role, "") for name, role in named}, "default_prompt_name": None},
        )
