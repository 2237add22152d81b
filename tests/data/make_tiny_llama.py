#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a GGUF file with a random model of the llama architecture, small enough to be made anew in every test.

Usage: make_tiny_llama.py OUTPUT [key=value ...]

The vocabulary is the 256 bytes, some merges and the special tokens of ChatML. Values are the same on every machine. Options
break one thing each, for tests of errors:
    arch=NAME        general.architecture
    type=NAME        type of the weights of the attention: F32 (default), F16, Q8_0, Q4_0, I32, ...
    wrong=TENSOR     this tensor gets one row more
    without=TENSOR   this tensor is left out
    context=N        llama.context_length (256)
    template=NAME    chatml (default), other or none
    bos=yes          tokenizer.ggml.add_bos_token
    tokenizer=NAME   tokenizer.ggml.model (gpt2)
    pre=NAME         tokenizer.ggml.pre (smollm)
    layers=N         llama.block_count as declared (2)
"""
import sys

import gguf
import numpy as np

EMBEDDING, HEADS, HEADS_KV, FEED_FORWARD, LAYERS = 64, 4, 2, 128, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "Ġ t", "Ġt he", "i n", "l l", "he ll", "hell o", "Ġ w", "o r", "or l", "Ġw orl", "Ġworl d", "Ã ©", "ä ¸", "ä¸ Ń"]
TEMPLATES = {"chatml": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
             "other": "{{ messages[0].content }}", "none": None}


def byte_alphabet():
    """GPT-2's printable character of each byte."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in own]
    return [chr(b) if b in own else chr(0x100 + rest.index(b)) for b in range(256)]


def vocabulary():
    return SPECIAL + byte_alphabet() + [m.replace(" ", "") for m in MERGES]


def shapes():
    """Name and numpy shape (rows first) of every tensor but the embedding."""
    kv = EMBEDDING // HEADS * HEADS_KV
    yield "output_norm.weight", (EMBEDDING,)
    yield "output.weight", (len(vocabulary()), EMBEDDING)
    for i in range(LAYERS):
        yield f"blk.{i}.attn_norm.weight", (EMBEDDING,)
        yield f"blk.{i}.attn_q.weight", (EMBEDDING, EMBEDDING)
        yield f"blk.{i}.attn_k.weight", (kv, EMBEDDING)
        yield f"blk.{i}.attn_v.weight", (kv, EMBEDDING)
        yield f"blk.{i}.attn_output.weight", (EMBEDDING, EMBEDDING)
        yield f"blk.{i}.ffn_norm.weight", (EMBEDDING,)
        yield f"blk.{i}.ffn_gate.weight", (FEED_FORWARD, EMBEDDING)
        yield f"blk.{i}.ffn_up.weight", (FEED_FORWARD, EMBEDDING)
        yield f"blk.{i}.ffn_down.weight", (EMBEDDING, FEED_FORWARD)


def add_tensor(writer, name, values, kind):
    kind = gguf.GGMLQuantizationType[kind]
    if kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
        writer.add_tensor(name, values.astype(np.float16 if kind.name == "F16" else np.float32))
    elif kind.name in ("I8", "I16", "I32", "I64"):
        writer.add_tensor(name, np.zeros(values.shape, dtype=f"int{kind.name[1:]}"))
    else:
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)


def add_keys(writer, options, tokens):
    arch = options.get("arch", "llama")
    writer.add_string("general.name", "tiny random llama")
    for key, value in (("context_length", int(options.get("context", 256))), ("embedding_length", EMBEDDING),
                       ("block_count", int(options.get("layers", LAYERS))), ("feed_forward_length", FEED_FORWARD),
                       ("attention.head_count", HEADS), ("attention.head_count_kv", HEADS_KV), ("rope.dimension_count", EMBEDDING // HEADS)):
        writer.add_uint32(f"{arch}.{key}", value)
    writer.add_float32(f"{arch}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{arch}.rope.freq_base", 10000.0)
    writer.add_string("tokenizer.ggml.model", options.get("tokenizer", "gpt2"))
    writer.add_string("tokenizer.ggml.pre", options.get("pre", "smollm"))
    writer.add_array("tokenizer.ggml.tokens", tokens)
    writer.add_array("tokenizer.ggml.token_type", [3 if t in SPECIAL else 1 for t in tokens])
    writer.add_array("tokenizer.ggml.merges", MERGES)
    writer.add_uint32("tokenizer.ggml.bos_token_id", tokens.index("<|im_start|>"))
    writer.add_uint32("tokenizer.ggml.eos_token_id", tokens.index("<|im_end|>"))
    writer.add_bool("tokenizer.ggml.add_bos_token", options.get("bos") == "yes")
    template = TEMPLATES[options.get("template", "chatml")]
    if template is not None:
        writer.add_string("tokenizer.chat_template", template)


def write(path, **options):
    random = np.random.RandomState(1)
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, options.get("arch", "llama"))
    add_keys(writer, options, tokens)
    for name, shape in [("token_embd.weight", (len(tokens), EMBEDDING)), *shapes()]:
        values = random.uniform(-1.0, 1.0, shape).astype(np.float32) * (2.0 if "embd" in name else 0.25)
        if "norm" in name:
            values = 1.0 + values
        if name == "output.weight":
            values[:len(SPECIAL)] = 0.0  # a text does not end by chance
        if options.get("wrong") == name:
            values = np.concatenate([values, values[-1:]])
        if options.get("without") != name:
            add_tensor(writer, name, values, options.get("type", "F32") if ".attn_" in name and "norm" not in name else "F32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1], **dict(word.split("=", 1) for word in sys.argv[2:]))
