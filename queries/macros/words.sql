-- Numbers in sentences.

-- A number with its noun: 1 request, 2 requests.
create macro macros.counted(n, noun) as
    n || ' ' || noun || case when n = 1 then '' else 's' end;
