import duckdb,glob
for t in ['gemm_perf','moe_perf','generation_attention_perf','context_attention_perf','mla_generation_module_perf','mla_context_module_perf','custom_allreduce_perf']:
    print('=====',t)
    q=f"select regexp_extract(filename,'kernels/(.*)/[a-z_]+.parquet',1) f, * exclude(filename) from read_parquet('/work/shared/data/kernels/*/*/{t}.parquet',filename=true,union_by_name=true)"
    r=duckdb.sql(f"select * from ({q}) limit 3"); print(r.df().to_string())
    print(duckdb.sql(f"select f,count(*) n from ({q}) group by all order by 1").df().to_string())
q="select * from read_parquet('/work/shared/data/kernels/h200_sxm/vllm-0.24.0/gemm_perf.parquet')"
print(duckdb.sql(f"select gemm_dtype, count(*) n, count(distinct (n,k)) s, list(distinct m order by m) from ({q}) group by all").df().to_string())
q="select * from read_parquet('/work/shared/data/kernels/h200_sxm/vllm-0.*/moe_perf.parquet',filename=true,union_by_name=true)"
print(duckdb.sql(f"select filename[40:60] f, moe_dtype, kernel_source, distribution, count(*) n, count(distinct num_tokens) nt, min(num_tokens), max(num_tokens), count(distinct (hidden_size,inter_size,topk,num_experts)) shapes from ({q}) group by all order by 1,2").df().to_string())
