-- Subtracts a batch of removed chunks from the counts of a knowledge base.
-- @one
SELECT subtract_removed_chunks(:knowledge_base_id, :limit) AS "n!"
