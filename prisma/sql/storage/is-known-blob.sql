-- Whether a file or an avatar refers to the blob with the key `k.key`.
(EXISTS (SELECT FROM files f WHERE f.blob_key = k.key)
  OR EXISTS (SELECT FROM avatars a WHERE a.id = split_part(k.key, '-', 1)))
