-- Whether the file `f` is in no folder that is being deleted. A list looks up the folders of its page:
-- PostgreSQL cannot make a join of this form, which would read all folders.
(f.folder_id IS NULL OR (SELECT gone.deleted_at FROM folders gone WHERE gone.id = f.folder_id) IS NULL)
