-- Whether searches may find the document `d`. A document that is parsed again keeps its previous chunks
-- until then; a document that was never parsed has none.
d.status <> 'failed'
