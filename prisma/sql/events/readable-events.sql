-- The first events between two sequences of `l` that the caller can read, in the order {order}.
-- The branches of the UNION find the sort keys, each with its own index: events of projects, events of the
-- user, events for everyone, and, for operators, sales. The rows are read for the keys of the page alone. An
-- event that two branches find is returned once.
-- A page costs the same for any length of the log: the sort keys and the pairs allow no other index.
-- PostgreSQL would scan the whole log for each project without events, if one project or user has most of
-- them.
-- A page costs the same for any number of memberships: `log` reads the log in its order, in blocks that
-- double, and looks up the membership of each event, until the page is full. An event of the log costs as
-- much as the look into the index for one membership. So `log` stops when it has read as many events as the
-- caller has memberships, unless fewer are left, and the looks find the other events. The condition
-- `project_id IS NOT NULL` is missing there on purpose: the index by project would match. `no_limit` is null,
-- because a LIMIT makes PostgreSQL read the memberships from their index, also if they are many of all.
SELECT k.sequence, {event-columns} FROM (
  WITH RECURSIVE log AS (
    SELECT l.start AS at, l.first_block AS size, '{}'::text[] AS ids, '{}'::bigint[] AS sequences
    WHERE l.all_projects
    UNION ALL
    SELECT b.next, b.size * 2, b.ids || k.ids, b.sequences || k.sequences
    FROM (
      SELECT g.*, l.step * least(l.step * l.stop,
        l.step * CASE WHEN g.at = l.start THEN l.base ELSE g.at END + g.size) AS next
      FROM log g
      WHERE l.step * g.at < l.step * l.stop AND cardinality(g.ids) < l.page AND (
        EXISTS (
          SELECT FROM members m WHERE m.user_id = l.user_id AND m.project_status <> 'deleted'
          ORDER BY m.project_id OFFSET {next-block} LIMIT 1
        ) OR EXISTS (
          SELECT FROM organization_members m WHERE m.user_id = l.user_id AND m.status = 'active'
          ORDER BY m.organization_id OFFSET {next-block} LIMIT 1
        ))
    ) b CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(p.id), '{}') AS ids, coalesce(array_agg(p.sequence), '{}') AS sequences
      FROM (
        SELECT e.id, e.sequence
        FROM events e CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = e.project_id AND m.user_id = l.user_id LIMIT 1
        ) m
        WHERE e.sequence > least(b.at, b.next) AND e.sequence <= greatest(b.at, b.next)
          AND {is-selected} AND {caller-may-read
            role=role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role)}
        ORDER BY e.sequence {order} LIMIT l.page
      ) p
    ) k
  ), scanned AS MATERIALIZED (SELECT * FROM log ORDER BY size DESC LIMIT 1)
  SELECT DISTINCT ON (u.sequence) u.id, u.sequence FROM (
    SELECT k.id, k.sequence FROM scanned s CROSS JOIN LATERAL unnest(s.ids, s.sequences) k (id, sequence)
    UNION ALL (
      SELECT p.id, p.sequence FROM scanned s CROSS JOIN LATERAL (
        SELECT p.id, p.sequence
        FROM (
          (SELECT m.project_id AS id FROM members m WHERE m.user_id = l.user_id
           ORDER BY m.project_status, m.project_id LIMIT l.no_limit)
          UNION ALL
          (SELECT m.organization_id FROM organization_members m
           WHERE m.user_id = l.user_id AND m.status = 'active' ORDER BY m.organization_id LIMIT l.no_limit)
        ) place CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = place.id AND m.user_id = l.user_id LIMIT 1
        ) m CROSS JOIN LATERAL (
          {events-of-project low=least(s.at,l.stop) high=greatest(s.at,l.stop)}
        ) p
        WHERE s.at <> l.stop AND cardinality(s.ids) < l.page
        ORDER BY p.sequence {order} LIMIT l.page
      ) p
    ) UNION ALL (
      SELECT p.id, p.sequence FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT m.* FROM event_readers m WHERE m.project_id = project.id AND m.user_id = l.user_id LIMIT 1
      ) m CROSS JOIN LATERAL (
        {events-of-project low=l.low high=l.high}
      ) p
      ORDER BY p.sequence {order} LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND NOT l.in_project
        AND (e.user_id, e.sequence) > (l.user_id, l.low) AND (e.user_id, e.sequence) <= (l.user_id, l.high)
        AND e.sequence IS NOT NULL AND {is-selected} AND {caller-may-read role=NULL}
      ORDER BY e.user_id {order}, e.sequence {order} LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND e.user_id IS NULL AND NOT l.in_project
        AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
      ORDER BY e.user_id {order}, e.sequence {order} LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE {is-sale} AND l.operator AND l.all_projects
        AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
      ORDER BY e.sequence {order} LIMIT l.page
    ) UNION ALL (
      SELECT p.* FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT e.id, e.sequence FROM events e
        WHERE e.project_id = project.id AND {is-sale} AND l.operator
          AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
        ORDER BY e.sequence {order} LIMIT l.page
      ) p
    )
  ) u ORDER BY u.sequence {order} LIMIT l.page
) k CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.id = k.id LIMIT 1) e
