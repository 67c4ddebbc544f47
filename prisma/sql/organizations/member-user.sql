-- In FROM, after a member `m`: joins its organization and its user.
JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id
