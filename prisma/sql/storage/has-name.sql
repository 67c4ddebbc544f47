-- Whether the file `f` has the name, compared in the Unicode form NFC. The hash is that of the index
-- `files_place_idx`.
(hashtextextended(normalize(f.name, NFC), 0) = hashtextextended(normalize({name}, NFC), 0)
  AND normalize(f.name, NFC) = normalize({name}, NFC))
