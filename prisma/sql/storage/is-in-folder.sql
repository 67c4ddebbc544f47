-- Whether the file `f` is in the folder, compared in the Unicode form NFC. The hash is that of the index
-- `files_folder_idx`.
(hashtextextended(normalize(f.path, NFC), 0) = hashtextextended(normalize(:folder, NFC), 0)
  AND normalize(f.path, NFC) = normalize(:folder, NFC))
