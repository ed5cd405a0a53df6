-- The time to a request's first token, term by term. `d` is a row of macros.deployment, `l` a macros.load(...). marts.ttft_gap takes the
-- terms of a request from here with what was really before it and beside it, a prediction with what its load makes of them.
-- group: model

-- The terms, which add up to the time to first token, seconds.
--   request   HTTP, reading the prompt into tokens and first scheduling
--   wait      for a place and for the prompts before it
--   prompt    its own prompt's work
--   steps     the steps that this work rides in, without it
-- input: tokens of the prompt, cached ones too; prompt_s: what its work adds to the steps that it rides in, seconds; steps_s: these steps,
-- seconds; wait_s: before its work starts, seconds.
--   select macros.ttft_terms(d, 2000, 10e-3, 50e-3, 10e-3).prompt from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.ttft_terms(d, input, wait_s, prompt_s, steps_s) as {
    'request': d.request_s + d.request_token_s * input,
    'wait': wait_s,
    'prompt': d.prompt_ratio * prompt_s,
    'steps': steps_s
};

-- Seconds that a prompt's own work of prompt_s adds to the steps of so many tokens that it rides in, steps_s. The host launches every layer of
-- a large step, and the prompt takes as long as that does.
--   select macros.launched_s(d, 2e-3, 6e-3, 1, 800) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'})
create macro macros.launched_s(d, prompt_s, steps_s, chunks, tokens) as
    greatest(prompt_s, chunks * macros.launched_step_s(d, tokens) - steps_s);

-- Their sum, seconds.
--   select macros.ttft_sum({'request': 20e-3, 'wait': 10e-3, 'prompt': 50e-3, 'steps': 10e-3})
create macro macros.ttft_sum(term) as
    term.request + term.wait + term.prompt + term.steps;

-- Seconds that a prompt waits for those before it in a closed loop: answers of similar lengths end together, so prompts come in bunches.
-- Each of the other clients has its prompt before this one with chance d.bunch_ratio; the API server takes it in, and the engine works on it.
--   select macros.bunch_wait_s(d, macros.load(2000, 500, clients := 64), 50e-3) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.bunch_wait_s(d, l, prompt_s) as
    d.bunch_ratio * greatest(0, l.clients - 1) * (d.prompt_ratio * prompt_s + macros.admits_s(d, l.input));

-- The band's ratio of a time to first token, as macros.terms_band_ratio of a time per token. `spread` is of macros.term_spreads.
--   select macros.ttft_band_ratio(macros.term_spreads(macros.spreads(), 'measured', 0, null, true, true),
--       {'request': 20e-3, 'wait': 10e-3, 'prompt': 50e-3, 'steps': 10e-3}) as ratio
create macro macros.ttft_band_ratio(spread, term) as
    exp(1.645e0 * sqrt(
        pow(spread.ttft, 2)
        + (pow(term.request * spread.request, 2) + pow(term.wait * spread.wait, 2) + pow(term.prompt * spread.prompt, 2) + pow(term.steps * spread.steps, 2))
        / pow(macros.ttft_sum(term), 2)
    )) - 1;
