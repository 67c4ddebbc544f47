-- Whether the name of a product has a text in it.
strpos(lower(t.name), lower(:q)) > 0
