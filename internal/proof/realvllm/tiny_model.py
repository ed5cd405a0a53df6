"""Makes a tiny model folder that vLLM serves without a download.

    python tiny_model.py FOLDER --ctx 16384

Architecture, sizes and a tokenizer, but no weights: `--load-format dummy` makes random ones. The tokenizer is a
byte-level BPE trained on this Python's own standard library, so that any text can be encoded and a token may end inside
a UTF-8 character, as with real models. Ids: 0 end of text, 1 and 2 the chat marks, 3 to 258 the bytes, then merges.
Needs the `tokenizers` package alone; takes about a second.
"""

import argparse
import json
import pathlib
import sysconfig

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCABULARY = 8192
LAYERS = 4
HIDDEN = 256
HEAD = 64  # vLLM's attention on a CPU wants a multiple of 32
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def train_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train(sorted(str(path) for path in library.glob("*.py")), trainer)
    if tokenizer.get_vocab_size() != VOCABULARY:  # ids above it could not be turned into text
        raise SystemExit(f"tokenizer: {tokenizer.get_vocab_size()} of {VOCABULARY} tokens: {library} holds too little text")
    return tokenizer


def tokenizer_config(context):
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[0],
        "pad_token": SPECIAL[0],
        "chat_template": CHAT,
    }


def model_config(context):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": HIDDEN * 11 // 4,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HIDDEN // HEAD,
        "num_key_value_heads": HIDDEN // HEAD // 2,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }


def main():
    arguments = argparse.ArgumentParser(description="make a tiny model folder for vLLM")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--ctx", type=int, default=4096, help="longest context, tokens")
    given = arguments.parse_args()

    given.folder.mkdir(parents=True, exist_ok=True)
    train_tokenizer().save(str(given.folder / "tokenizer.json"))
    documents = {
        "tokenizer_config.json": tokenizer_config(given.ctx),
        "config.json": model_config(given.ctx),
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0},
    }
    for name, document in documents.items():
        (given.folder / name).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
