#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Texts for the tokenizer test, and the file of their tokens as the peer makes them: see make_tokens.c.

Usage: make_tokens.py MODEL.gguf PROGRAM N > FILE, with N random texts

Each line of that file: 1 when special tokens in the text are recognised, the text as a JSON string, the tokens.
"""
import json
import random
import subprocess
import sys

FIXED = [
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "a", " a", "a ", "  a", "a  ", "Hello, world!", "hello world",
    "The quick brown fox jumps over the lazy dog.", "I'm we've they'll don't he'd you're it's", "I'M WE'VE THEY'LL DON'T",
    "''s 't''re", "0", "1234567890", "3.14159", "1,000,000", "a1b2c3", " 12 345", "½ ² ³ ① Ⅷ", "٠١٢٣", "x=1;y=2", "foo_bar-baz",
    "CamelCase snake_case kebab-case", "https://example.org/a?b=c&d=%20e#f", "me@example.org", "C:\\path\\to\\file.txt",
    "for (int i = 0; i < n; ++i) {\n    a[i] = b[i] * 2;\n}\n", "def f(x):\n\treturn x ** 2\n", "<html><body class=\"a\">&nbsp;</body></html>",
    '{"key": [1, 2.5, null, true]}', "....", "!!!???", "-----", "======", "***", "(((a)))", "$5.00 €10 £3 ¥7", "naïve café résumé",
    "Ünïcödé", "straße", "Ελληνικά", "Привет, мир!", "שלום עולם", "مرحبا بالعالم", "हिन्दी भाषा", "ไทย", "日本語のテキスト",
    "中文文本，没有空格。", "한국어 문장", "𝒜𝓁𝓅𝒽𝒶", "😀", "👨‍👩‍👧‍👦", "🇫🇷 flag", "e\u0301 combining", "a\u00a0b", "a\u2003b", "a\u200bb",
    "\u3000全角", "\ufefftext", "tab\tseparated\tvalues", "line one\nline two\r\nline three\rline four", "trailing spaces   \n", "   leading",
    "a\n\n\nb", "a \n b", "a  \n  b", "word" * 30, "a" * 300, " " * 70, "\n" * 40, "ab " * 60, "0" * 50, "中" * 200, "é" * 100, "'" * 20, "'s" * 10,
    "<|im_start|>user\nHello<|im_end|>\n", "<|endoftext|>", "a<|im_end|>b", "<|im_start|", "<|im_start|><|im_start|>", " <|im_end|> ",
    "<repo_name>x<file_sep>y", "<|unknown|>", "\x01\x02\x7f", "a\x1bb",
]
ALPHABET = list("abcdefXYZ0123456789     \n\n\t.,;:!?'\"()[]{}<>|_-+=*/\\%$#@&~^éüßñçøåΩжы中文日本한ไा٣½😀\u00a0\u2009\u200d\u0301") + ["'s", "'re", " the", "ing"]


def texts(n):
    """Fixed texts and n random ones."""
    rng = random.Random(7)
    return FIXED + ["".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 60))) for _ in range(n)]


def tokens(program, model, these, special):
    """Lists of tokens, by a program that reads texts from stdin."""
    command = [program, model] + (["--special"] if special else [])
    data = b"".join(text.encode() + b"\0" for text in these)
    p = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True)
    return [[int(t) for t in line.split()] for line in p.stdout.decode().split("\n")[:-1]]


def main():
    these = texts(int(sys.argv[3]))
    for special in (False, True):
        for text, ids in zip(these, tokens(sys.argv[2], sys.argv[1], these, special)):
            print(f"{int(special)}\t{json.dumps(text)}\t{' '.join(map(str, ids))}")


if __name__ == "__main__":
    main()
