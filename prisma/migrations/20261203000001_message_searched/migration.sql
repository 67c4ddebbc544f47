-- What was searched for an answer: the knowledge bases and the number of passages. Null if nothing was.
ALTER TABLE ai_messages ADD searched JSONB;
