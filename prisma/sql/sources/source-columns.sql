-- The columns of a KnowledgeSource, from knowledge_sources s, without its project.
-- @type error NonNullable<Schemas['KnowledgeSource']['error']>
-- @type last_sync NonNullable<Schemas['KnowledgeSource']['last_sync']>
s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at
