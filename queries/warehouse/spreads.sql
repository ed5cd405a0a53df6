-- What macros.spreads() says.
select map_from_entries(list((concat_ws(' ', term_spreads.term, nullif(term_spreads.condition, '')), term_spreads.spread))) as of_terms
from seeds.term_spreads;
