-- Whether events of this type are about resources of a workspace. `tenantEventTypes` of
-- services/events/log.ts is the value of :tenant_event_types.
{type} = ANY(:tenant_event_types::text[])
