-- Whether the file `f` is in the folder :folder_id; at the root if it is null.
coalesce(f.folder_id, '') = coalesce(:folder_id?, '')
