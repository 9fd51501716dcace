"""The formats in which models are asked to write windows of files anew: dlsp's own, and those of models that others
trained. `dlsp.api.edit_prompts` takes the latter's prompts apart, where a client wrote them.
"""
