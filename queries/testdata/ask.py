"""Asks a warehouse the questions that stand on stdin as {"name": "query"}, and says which cannot be answered."""

import json
import sys

import duckdb

warehouse = duckdb.connect(sys.argv[1], read_only=True)
questions = json.load(sys.stdin)
wrong = 0
for name, query in questions.items():
    try:
        warehouse.execute(query).fetchall()
    except duckdb.Error as error:
        wrong += 1
        print(f"{name}: {error}")
print(f"DuckDB {duckdb.__version__}: {len(questions) - wrong} of {len(questions)} questions answered")
sys.exit(wrong > 0)
