"""What a program does with `text-generation`, the client of Hugging Face's server: generate, whole and streamed."""

import json
import sys

from text_generation import Client

client = Client(sys.argv[1])
whole = client.generate("a = ", max_new_tokens=9, stop_sequences=["###"])
stream = list(client.generate_stream("b = ", max_new_tokens=9))
told = {
    "text": whole.generated_text,
    "tokens": whole.details.generated_tokens,
    "reason": whole.details.finish_reason,
    "streamed": "".join(each.token.text for each in stream if not each.token.special),
    "whole": stream[-1].generated_text,
}
print(json.dumps(told))
