-- The rights of platform_server in the database that it runs in. A backup is restored into another database,
-- which needs them before:
--   psql --command='CREATE DATABASE restored OWNER platform_owner' postgres
--   psql --file=rights.sql restored
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO platform_server', current_database()) \gexec
-- Servers and workers read and write the tables of later migrations, but cannot alter them.
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner GRANT USAGE ON SCHEMAS TO platform_server;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO platform_server;
ALTER DEFAULT PRIVILEGES FOR ROLE platform_owner GRANT USAGE, SELECT ON SEQUENCES TO platform_server;
