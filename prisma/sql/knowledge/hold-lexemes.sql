-- Locks the lexemes of a knowledge base until the transaction ends.
-- @one
SELECT hold_lexemes(:knowledge_base_id)
