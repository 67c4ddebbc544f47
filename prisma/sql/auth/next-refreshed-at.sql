-- An expression: when the session s was refreshed, with a refresh now.
s.refreshed_at[greatest(cardinality(s.refreshed_at) - 8, 1):] || now()
