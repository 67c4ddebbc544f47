-- In FROM, for an event that is in no project: the missing membership `m`.
CROSS JOIN (SELECT NULL::"MemberRole" AS role, NULL::"MemberRole" AS storage_role,
  NULL::"MemberRole" AS ai_role, NULL::"MemberRole" AS payments_role) m
