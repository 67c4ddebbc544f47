-- Whether searches may find the document of the text `t`. A document that is parsed again keeps its previous
-- chunks until then; a document that was never parsed has none.
t.is_searchable
