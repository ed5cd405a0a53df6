-- One row per word that a tool measures in: what it means there. Two tools mean the
-- same where quantity and definition_id are the same; numbers of two definitions of
-- one quantity are not compared.
-- group: tools
-- tool           as in raw.points: 'vllm-bench-serve', 'aiperf', ...; 'tidemark' is ours
-- name           as in raw.figures: the tool's own word, without statistic and unit
-- quantity       what it measures, called as we do: 'ttft_s', 'tpot_s', 'itl_s', 'e2e_s', 'output_tokens_per_s', ...; null: nothing that we have a word for
-- definition_id  how exactly; null where quantity is
-- unit           that the tool writes it in; null: none
-- to_si          times this it is in seconds, tokens, requests, or these per second, as the quantity's name says
-- meaning        in a sentence
-- source         where the tool says so
create table seeds.definitions (
    tool varchar not null,
    name varchar not null,
    quantity varchar,
    definition_id varchar,
    unit varchar,
    to_si double not null,
    meaning varchar not null,
    source varchar not null,
    primary key (tool, name)
);
