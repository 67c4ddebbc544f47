-- Whether a file, a version of a file, an avatar or an export refers to the blob with the key `k.key`.
(EXISTS (SELECT FROM files f WHERE f.blob_key = k.key)
  OR EXISTS (SELECT FROM file_versions n WHERE n.blob_key = k.key)
  OR EXISTS (SELECT FROM avatars a WHERE a.id = split_part(k.key, '-', 1))
  OR EXISTS (SELECT FROM account_exports e WHERE e.blob_key = k.key))
