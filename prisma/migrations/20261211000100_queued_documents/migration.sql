-- For the document worker, which takes turns between the owners of queued documents.
CREATE INDEX "document_counts_queued_idx" ON "document_counts"("knowledge_base_id")
  WHERE "status" = 'queued' AND "count" > 0;
