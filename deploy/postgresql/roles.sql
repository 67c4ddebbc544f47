-- Two roles for the database: platform_owner applies migrations, platform_server runs servers and workers.
-- Run it once as a superuser of PostgreSQL, for a new database:
--   psql --set=owner_password=... --set=server_password=... --file=roles.sql postgres
CREATE ROLE platform_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE platform_server LOGIN PASSWORD :'server_password';
CREATE DATABASE platform OWNER platform_owner;
\connect platform
\ir rights.sql
