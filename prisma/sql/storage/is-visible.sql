-- Whether the file `f` is visible: neither expired, nor in the trash, nor in a folder that is being deleted.
-- A list looks up the folders of its page: PostgreSQL cannot make a join of this form, which would read all.
((f.expires_at IS NULL OR f.expires_at > now()) AND f.trashed_at IS NULL
  AND (f.folder_id IS NULL
    OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL))
