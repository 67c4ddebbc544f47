-- Two roles for the database: platform_owner applies migrations, platform_server runs servers and workers.
-- Run it once as a superuser of PostgreSQL, for a new database:
--   psql --set=owner_password=... --set=server_password=... --file=roles.sql postgres
CREATE ROLE platform_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE platform_server LOGIN PASSWORD :'server_password';
CREATE DATABASE platform OWNER platform_owner;
REVOKE ALL ON DATABASE platform FROM PUBLIC;
GRANT CONNECT ON DATABASE platform TO platform_server;
\connect platform
-- Servers and workers read and write the tables of later migrations, but cannot alter them.
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner GRANT USAGE ON SCHEMAS TO platform_server;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO platform_server;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner GRANT USAGE, SELECT ON SEQUENCES TO platform_server;
