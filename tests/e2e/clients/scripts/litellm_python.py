"""What a program does with LiteLLM: OpenAI's completions, Codestral's and Mercury's fill in the middle."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it is fetched from the network
import litellm

base = sys.argv[1]
told = {}
for name, model, address in (
    ("openai", "text-completion-openai/any", f"{base}/v1"),
    ("codestral", "text-completion-codestral/codestral-latest", f"{base}/v1/fim/completions"),
    ("inception", "text-completion-inception/mercury-edit", f"{base}/v1"),
):
    answer = litellm.text_completion(
        model=model, prompt="a = ", suffix="\n", api_base=address, api_key="none", max_tokens=9, num_retries=0
    )
    told[name] = answer.choices[0].text
print(json.dumps(told))
