-- The columns of an OwnedDocument, from documents d and its knowledge base k.
{document-columns}, k.project_id, k.owner_id, d.wanted
