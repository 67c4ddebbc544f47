-- The columns of a Project that its members write.
name, description?, category?, tags, metadata
