-- In FROM, for an event that is in no project: the missing membership `m`.
CROSS JOIN (SELECT NULL::"MemberRole" AS role) m
