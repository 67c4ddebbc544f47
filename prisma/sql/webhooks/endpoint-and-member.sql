-- In FROM, after a delivery `d` and its event `e`: joins the endpoint, its owner, and the membership of its
-- owner in the event's project.
JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
