-- The columns of a Share, from folder_shares s.
-- @type status Schemas['Share']['status']
-- @type role Schemas['Share']['role']
s.id, s.folder_id,
(SELECT its_folder.name FROM folders its_folder WHERE its_folder.id = s.folder_id) AS "folder_name!",
s.project_id, s.email, s.role, {share-status} AS status, s.owner_id AS created_by,
(SELECT its_owner.name FROM users its_owner WHERE its_owner.id = s.owner_id) AS "created_by_name!",
s.expires_at, s.created_at
