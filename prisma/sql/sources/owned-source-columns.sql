-- The columns of an OwnedSource, from knowledge_sources s and its knowledge base k.
{source-columns}, k.project_id, k.owner_id
