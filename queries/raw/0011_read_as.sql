-- Migration 11: the same bytes can be read in several ways. What the user said of them decides whether a file is known.

alter table raw.sources add column read_as varchar;                 -- as 'arrival_s=when, input_tokens=in, time unit s'; null: the user said nothing
